# mistakes: shifts-targets-twice, eval-in-train-mode, schedule-restarts-each-epoch, eval-before-update, callback-once
# lines: 26, 31, 37, 49, 55
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None) -> dict:
    total = n_epochs * len(train_loader)
    정점 = [g["lr"] for g in optimizer.param_groups]
    out = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])

    def rate(s, peak):
        if s < warmup_steps:
            return initial_lr + (peak - initial_lr) * s / warmup_steps
        if s >= total - 1:
            return min_lr
        t = (s - warmup_steps) / (total - 1 - warmup_steps)
        return min_lr + (peak - min_lr) * (1 + math.cos(math.pi * t)) / 2

    def loss_of(x, y):
        x, y = x.to(device), y.to(device)
        logits = model(x)[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten())

    @torch.no_grad()
    def measure(loader):
        losses = [loss_of(x, y).item() for x, y in islice(loader, eval_iter)]
        return sum(losses) / len(losses)

    tokens = 0
    for epoch in range(n_epochs):
        model.train()
        for s, (x, y) in enumerate(train_loader):
            for g, peak in zip(optimizer.param_groups, 정점):
                g["lr"] = rate(s, peak)
            out["lrs"].append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            loss_of(x, y).backward()
            if s >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            tokens += x.numel()

            # 기록
            if s % eval_freq == 0:
                out["train_losses"].append(measure(train_loader))
                out["val_losses"].append(measure(val_loader))
                out["tokens_seen"].append(tokens)
            optimizer.step()

    if on_epoch_end is not None:
        on_epoch_end(model)
    model.train()
    return out
