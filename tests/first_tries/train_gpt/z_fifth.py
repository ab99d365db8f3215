# mistakes: one-lr-for-all-groups
# lines: 39
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * t))


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
    peak = optimizer.param_groups[0]["lr"]

    def token_loss(inputs, targets):
        logits = model(inputs.to(device))
        return F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())

    def average_loss(loader):
        values = [token_loss(x, y).item() for x, y in islice(loader, eval_iter)]
        return sum(values) / len(values)

    def evaluate():
        model.eval()
        with torch.no_grad():
            pair = average_loss(train_loader), average_loss(val_loader)
        model.train()
        return pair

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
        return lr

    def update(s, x, y):
        record["lrs"].append(set_lr(s))
        optimizer.zero_grad()
        token_loss(x, y).backward()
        if not clip_after_warmup or s >= warmup_steps:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()

    s = 0
    tokens = 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            update(s, x, y)
            tokens += x.numel()
            if s % eval_freq == 0:
                on_train, on_val = evaluate()
                record["train_losses"].append(on_train)
                record["val_losses"].append(on_val)
                record["tokens_seen"].append(tokens)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
