# mistakes: divides-by-eval-iter, one-lr-for-all-groups, clip-after-warmup-late
# lines: 33, 55, 71
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def _lr_at(s, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if s < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * s / warmup_steps
    if s >= total_steps - 1:
        return min_lr
    t = (s - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * t))


def _lm_loss(model, x, y, device):
    x, y = x.to(device), y.to(device)
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def _estimate(model, loader, device, eval_iter):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in islice(loader, eval_iter):
            total += _lm_loss(model, x, y, device).item()
    model.train()
    return total / eval_iter


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
    total_steps = len(train_loader) * n_epochs
    peak_lr = optimizer.param_groups[0]["lr"]

    s = 0
    tokens = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            lr = _lr_at(s, warmup_steps, total_steps, initial_lr, peak_lr, min_lr)
            for group in optimizer.param_groups:
                group["lr"] = lr
            log["lrs"].append(lr)

            optimizer.zero_grad()
            _lm_loss(model, x, y, device).backward()
            if not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            elif s > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()

            if s % eval_freq == 0:
                log["train_losses"].append(_estimate(model, train_loader, device, eval_iter))
                log["val_losses"].append(_estimate(model, val_loader, device, eval_iter))
                log["tokens_seen"].append(tokens)
            s += 1

        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return log
