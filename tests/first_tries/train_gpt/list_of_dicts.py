# mistakes: one-lr-for-all-groups, never-reaches-min, clips-past-warmup-only
# lines: 36, 12, 46
from math import cos, pi

import torch
from torch import nn


def schedule(length, warmup, low, peak, floor):
    """업데이트마다 쓸 학습률을 미리 모두 적는다."""
    up = [low + (peak - low) / warmup * i for i in range(min(warmup, length))]
    span = length - warmup
    down = []
    for i in range(span):
        down.append(floor + (peak - floor) * (0.5 + 0.5 * cos(pi * i / span)))
    return up + down


@torch.no_grad()
def average(model, loader, most, device):
    was = model.training
    model.eval()
    values = [token_loss(model, batch, device).item() for _, batch in zip(range(most), loader)]
    model.train(was)
    return sum(values) / len(values)


def token_loss(model, batch, device):
    ids, answers = (part.to(device) for part in batch)
    return nn.CrossEntropyLoss()(model(ids).permute(0, 2, 1), answers)


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    groups = optimizer.param_groups
    rates = schedule(len(train_loader) * n_epochs, warmup_steps, initial_lr, groups[0]["lr"], min_lr)
    rows, read = [], 0
    for epoch in range(n_epochs):
        model.train()
        for j, batch in enumerate(train_loader):
            i = epoch * len(train_loader) + j
            for group in groups:
                group.update(lr=rates[i])
            optimizer.zero_grad()
            token_loss(model, batch, device).backward()
            if i > warmup_steps:  # 워밍업이 끝난 다음부터 자르기
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            read += batch[0].numel()
            if i % eval_freq == 0:
                fit, held_out = (average(model, one, eval_iter, device) for one in (train_loader, val_loader))
                rows.append({"train_losses": fit, "val_losses": held_out, "tokens_seen": read})
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    columns = {key: [row[key] for row in rows] for key in ("train_losses", "val_losses", "tokens_seen")}
    return columns | {"lrs": rates}
