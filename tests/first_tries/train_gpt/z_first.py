# mistakes: one-lr-for-all-groups, divides-by-eval-iter, clip-after-warmup-late
# lines: 54, 33, 78
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    w = (1 + math.cos(math.pi * t)) / 2 if decay == "cosine" else 1 - t
    return min_lr + (peak_lr - min_lr) * w


def lm_loss(model, x, y, device):
    logits = model(x.to(device))
    return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())


@torch.no_grad()
def mean_loss(model, loader, device, eval_iter):
    s = 0.0
    for x, y in islice(loader, eval_iter):
        s += lm_loss(model, x, y, device).item()
    return s / eval_iter


def train_gpt(
    model,
    train_loader,
    val_loader,
    optimizer,
    *,
    device="cpu",
    n_epochs,
    eval_freq,
    eval_iter,
    warmup_steps,
    initial_lr=3e-5,
    min_lr=1e-6,
    max_norm=1.0,
    clip_after_warmup=False,
    on_epoch_end=None,
) -> dict:
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peak = optimizer.param_groups[0]["lr"]
    total = n_epochs * len(train_loader)
    s = 0
    tokens = 0

    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            lr = lr_at(
                s,
                warmup_steps=warmup_steps,
                total_steps=total,
                initial_lr=initial_lr,
                peak_lr=peak,
                min_lr=min_lr,
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            log["lrs"].append(lr)

            optimizer.zero_grad()
            loss = lm_loss(model, x, y, device)
            loss.backward()
            # 워밍업 다음부터 자르는 선택
            if not clip_after_warmup or s > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()

            if s % eval_freq == 0:
                model.eval()
                log["train_losses"].append(mean_loss(model, train_loader, device, eval_iter))
                log["val_losses"].append(mean_loss(model, val_loader, device, eval_iter))
                log["tokens_seen"].append(tokens)
                model.train()
            s += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    model.train()
    return log
