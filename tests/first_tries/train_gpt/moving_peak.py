# mistakes: leaves-eval-mode, peak-from-decayed-lr, tokens-count-samples
# lines: 33, 61, 69
import math

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * t))


def get_loss(model, xb, yb, device):
    xb, yb = xb.to(device), yb.to(device)
    logits = model(xb)
    return F.cross_entropy(logits.flatten(0, 1), yb.flatten())


def measure(model, loader, n, device):
    model.eval()
    total = 0.0
    n = min(n, len(loader))
    with torch.no_grad():
        for i, (xb, yb) in enumerate(loader):
            if i >= n:
                break
            total += get_loss(model, xb, yb, device).item()
    return total / n


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
    total_steps = len(train_loader) * n_epochs
    out = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    s, tokens = 0, 0
    for epoch in range(n_epochs):
        model.train()
        for xb, yb in train_loader:
            for g in optimizer.param_groups:
                g["lr"] = lr_at(s, warmup_steps=warmup_steps, total_steps=total_steps,
                                initial_lr=initial_lr, peak_lr=g["lr"], min_lr=min_lr)
            out["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss = get_loss(model, xb, yb, device)
            loss.backward()
            if not clip_after_warmup or s >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += len(xb)
            if s % eval_freq == 0:
                out["train_losses"].append(measure(model, train_loader, eval_iter, device))
                out["val_losses"].append(measure(model, val_loader, eval_iter, device))
                out["tokens_seen"].append(tokens)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return out
