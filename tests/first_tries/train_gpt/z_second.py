# mistakes: one-lr-for-all-groups, clip-after-warmup-late, leaves-callback-mode
# lines: 54, 71, 83
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * progress
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


def token_loss(model, x, y, device):
    logits = model(x.to(device))
    return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())


@torch.no_grad()
def mean_loss(model, loader, device, n):
    values = [token_loss(model, x, y, device).item() for x, y in islice(loader, n)]
    return sum(values) / len(values)


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
    peak = optimizer.param_groups[0]["lr"]

    def set_lr(s):
        lr = lr_at(
            s,
            warmup_steps=warmup_steps,
            total_steps=total_steps,
            initial_lr=initial_lr,
            peak_lr=peak,
            min_lr=min_lr,
        )
        for group in optimizer.param_groups:
            group["lr"] = lr
        log["lrs"].append(lr)

    def should_clip(s):
        if clip_after_warmup:
            return s > warmup_steps
        return True

    def evaluate_now(tokens):
        model.eval()
        log["train_losses"].append(mean_loss(model, train_loader, device, eval_iter))
        log["val_losses"].append(mean_loss(model, val_loader, device, eval_iter))
        log["tokens_seen"].append(tokens)
        model.train()

    s = 0
    tokens = 0
    model.train()
    for epoch in range(n_epochs):
        for x, y in train_loader:
            set_lr(s)
            optimizer.zero_grad()
            token_loss(model, x, y, device).backward()
            if should_clip(s):
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if s % eval_freq == 0:
                evaluate_now(tokens)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return log
