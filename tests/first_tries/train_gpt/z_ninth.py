# mistakes: divides-by-eval-iter, one-lr-for-all-groups, clip-after-warmup-late
# lines: 28, 50, 72
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def learning_rate(step, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


def batch_loss(model, x, y, device):
    x, y = x.to(device), y.to(device)
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def loader_loss(model, loader, device, eval_iter):
    losses = [batch_loss(model, x, y, device).item() for x, y in islice(loader, eval_iter)]
    return sum(losses) / eval_iter


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
    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    total_steps = len(train_loader) * n_epochs
    peak_lr = optimizer.param_groups[0]["lr"]
    tokens = 0
    s = 0

    def look():
        model.eval()
        with torch.no_grad():
            record["train_losses"].append(loader_loss(model, train_loader, device, eval_iter))
            record["val_losses"].append(loader_loss(model, val_loader, device, eval_iter))
        record["tokens_seen"].append(tokens)
        model.train()

    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            lr = learning_rate(s, warmup_steps, total_steps, initial_lr, peak_lr, min_lr)
            for group in optimizer.param_groups:
                group["lr"] = lr
            record["lrs"].append(lr)

            optimizer.zero_grad()
            batch_loss(model, x, y, device).backward()
            if not clip_after_warmup or s > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if s % eval_freq == 0:
                look()
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
