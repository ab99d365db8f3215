import math
from contextlib import contextmanager
from itertools import count, islice

import torch
from torch import nn


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - t if decay == "linear" else 0.5 * (1 + math.cos(math.pi * t))
    return min_lr + (peak_lr - min_lr) * height


@contextmanager
def evaluating(model):
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train()


def events(loader, n_epochs):
    """(s, batch) for every update, (None, None) at the end of every epoch."""
    numbers = count()
    for _ in range(n_epochs):
        for batch in loader:
            yield next(numbers), batch
        yield None, None


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
    criterion = nn.CrossEntropyLoss()
    model.to(device).train()
    plan = {
        "warmup_steps": warmup_steps,
        "total_steps": n_epochs * len(train_loader),
        "initial_lr": initial_lr,
        "min_lr": min_lr,
    }
    peaks = tuple(float(group["lr"]) for group in optimizer.param_groups)
    record = {name: [] for name in ("train_losses", "val_losses", "tokens_seen", "lrs")}
    tokens = 0

    def loss_of(batch):
        x, y = (part.to(device) for part in batch)
        return criterion(model(x).movedim(-1, 1), y)

    def look_at(loader):
        losses = [loss_of(batch).item() for batch in islice(loader, eval_iter)]
        return math.fsum(losses) / len(losses)

    for s, batch in events(train_loader, n_epochs):
        if s is None:
            if on_epoch_end is not None:
                on_epoch_end(model)
            model.train()
            continue

        rates = [lr_at(s, peak_lr=peak, **plan) for peak in peaks]
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        record["lrs"].append(rates[0])

        optimizer.zero_grad()
        loss_of(batch).backward()
        if not (clip_after_warmup and s < warmup_steps):
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        tokens += batch[0].numel()

        if not s % eval_freq:
            with evaluating(model):
                record["train_losses"].append(look_at(train_loader))
                record["val_losses"].append(look_at(val_loader))
            record["tokens_seen"].append(tokens)
    return record
