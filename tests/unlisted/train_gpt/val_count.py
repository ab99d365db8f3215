# mistakes: 평가 배치 수를 val 로더에서도 train 로더의 길이로 잘라서, 짧은 val의 평균이 작아짐
# lines: 42
import math
from itertools import islice

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


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
    def batch_loss(xb, yb):
        logits = model(xb.to(device))
        return F.cross_entropy(logits.flatten(0, 1), yb.to(device).flatten())

    @torch.no_grad()
    def estimate(loader):
        n = min(eval_iter, len(train_loader))
        return sum(batch_loss(xb, yb).item() for xb, yb in islice(loader, n)) / n

    model.to(device)
    peaks = [group["lr"] for group in optimizer.param_groups]
    total_steps = len(train_loader) * n_epochs
    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    s = tokens = 0
    for _ in range(n_epochs):
        model.train()
        for xb, yb in train_loader:
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = lr_at(
                    s,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak,
                    min_lr=min_lr,
                )
            record["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            batch_loss(xb, yb).backward()
            if not clip_after_warmup or s >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += xb.numel()
            if s % eval_freq == 0:
                model.eval()
                record["train_losses"].append(estimate(train_loader))
                record["val_losses"].append(estimate(val_loader))
                record["tokens_seen"].append(tokens)
                model.train()
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
