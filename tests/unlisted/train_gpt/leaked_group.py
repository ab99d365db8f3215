# mistakes: lrs에 첫 그룹이 아니라 반복이 끝난 마지막 그룹의 학습률을 적음
# lines: 67
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


def batch_loss(model, x, y, device):
    logits = model(x.to(device))
    return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())


@torch.no_grad()
def mean_loss(model, loader, eval_iter, device):
    total = 0.0
    n = min(eval_iter, len(loader))
    for i, (x, y) in enumerate(loader):
        if i == n:
            break
        total += batch_loss(model, x, y, device).item()
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
    peaks = [group["lr"] for group in optimizer.param_groups]
    total_steps = len(train_loader) * n_epochs
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    s = tokens = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = lr_at(
                    s,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak,
                    min_lr=min_lr,
                )
            log["lrs"].append(group["lr"])
            optimizer.zero_grad()
            batch_loss(model, x, y, device).backward()
            if not clip_after_warmup or s >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if s % eval_freq == 0:
                model.eval()
                log["train_losses"].append(mean_loss(model, train_loader, eval_iter, device))
                log["val_losses"].append(mean_loss(model, val_loader, eval_iter, device))
                log["tokens_seen"].append(tokens)
                model.train()
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return log
