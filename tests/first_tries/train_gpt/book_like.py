# mistakes: schedule-ends-after-one-epoch, one-lr-for-all-groups, clip-after-warmup-late, tokens-count-samples, missing-first-eval
# lines: 40, 39, 51, 54, 56
import math

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * t))


def calc_loss(model, x, y, device):
    x, y = x.to(device), y.to(device)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def mean_loss(model, loader, k, device):
    k = min(k, len(loader))
    total = 0.0
    for i, (x, y) in enumerate(loader):
        if i >= k:
            break
        total += calc_loss(model, x, y, device).item()
    return total / k


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None) -> dict:
    train_losses, val_losses, track_tokens, lrs = [], [], [], []
    tokens = 0
    s = 0
    model.to(device)
    peak_lr = optimizer.param_groups[0]["lr"]
    total = len(train_loader)
    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            lr = lr_at(s, warmup_steps=warmup_steps, total_steps=total, initial_lr=initial_lr, peak_lr=peak_lr, min_lr=min_lr)
            for g in optimizer.param_groups:
                g["lr"] = lr
            lrs.append(lr)
            optimizer.zero_grad()
            loss = calc_loss(model, x, y, device)
            loss.backward()
            if not clip_after_warmup or s > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += len(x)
            s += 1
            if s % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    train_losses.append(mean_loss(model, train_loader, eval_iter, device))
                    val_losses.append(mean_loss(model, val_loader, eval_iter, device))
                track_tokens.append(tokens)
                model.train()
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": track_tokens, "lrs": lrs}
