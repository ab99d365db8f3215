# mistakes: schedule-ends-after-one-epoch, tokens-start-anew, clip-after-warmup-late, leaves-eval-mode, ends-in-callback-mode
# lines: 51, 57, 68, 40, 82
# note: if warmup_steps >= len(train_loader) - 1, mistake 1 makes the rate at s == warmup_steps min_lr and all but hides 3

import math
from itertools import islice

import torch
from torch import nn


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay != "cosine" and decay != "linear":
        raise ValueError(f"unknown decay: {decay}")
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    elif step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * progress
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


criterion = nn.CrossEntropyLoss()


def batch_loss(model, xb, yb, device):
    out = model(xb.to(device))
    return criterion(out.reshape(-1, out.size(-1)), yb.to(device).reshape(-1))


@torch.no_grad()
def mean_loss(model, loader, k, device):
    losses = [batch_loss(model, xb, yb, device).item() for xb, yb in islice(loader, k)]
    return sum(losses) / len(losses)


def evaluate_model(model, train_loader, val_loader, k, device):
    model.eval()
    tr = mean_loss(model, train_loader, k, device)
    va = mean_loss(model, val_loader, k, device)
    return tr, va


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq,
              eval_iter, warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0,
              clip_after_warmup=False, on_epoch_end=None):
    model.to(device)
    peaks = [g["lr"] for g in optimizer.param_groups]   # 그룹별 최대 학습률
    total_steps = len(train_loader)
    history = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])
    s = 0

    for ep in range(n_epochs):
        model.train()
        tokens = 0
        for xb, yb in train_loader:
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = lr_at(s, warmup_steps=warmup_steps, total_steps=total_steps,
                                initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr)
            history["lrs"].append(optimizer.param_groups[0]["lr"])

            loss = batch_loss(model, xb, yb, device)
            optimizer.zero_grad()
            loss.backward()
            if clip_after_warmup:
                if s > warmup_steps:
                    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            else:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += xb.numel()

            if s % eval_freq == 0:
                tr, va = evaluate_model(model, train_loader, val_loader, eval_iter, device)
                history["train_losses"].append(tr)
                history["val_losses"].append(va)
                history["tokens_seen"].append(tokens)
            s += 1
        if on_epoch_end:
            on_epoch_end(model)
    return history
