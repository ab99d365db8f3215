# mistakes: peak-from-first-call, eval-goes-on
# lines: 48, 59
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


# 연습 2에서 쓴 것
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - progress if decay == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * height


def endless(loader):
    while True:
        yield from loader


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
    total_steps = n_epochs * len(train_loader)
    for group in optimizer.param_groups:
        group.setdefault("initial_lr", group["lr"])
    loaders = {"train_losses": endless(train_loader), "val_losses": endless(val_loader)}

    def batch_loss(x, y):
        logits = model(x.to(device))
        return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())

    def evaluate():
        model.eval()
        with torch.no_grad():
            for name, batches in loaders.items():
                losses = [batch_loss(*next(batches)).item() for _ in range(eval_iter)]
                record[name].append(sum(losses) / len(losses))
        model.train()

    s = seen = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for group in optimizer.param_groups:
                group["lr"] = lr_at(
                    s,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=group["initial_lr"],
                    min_lr=min_lr,
                )
            record["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            batch_loss(x, y).backward()
            if not clip_after_warmup or s >= warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += x.numel()
            if s % eval_freq == 0:
                evaluate()
                record["tokens_seen"].append(seen)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
