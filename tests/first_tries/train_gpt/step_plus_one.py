# mistakes: eval-in-train-mode, tokens-count-batches, missing-first-eval
# lines: 41, 63, 65
import math
from itertools import islice

import torch
from torch import nn


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
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peaks = [g["lr"] for g in optimizer.param_groups]
    total = len(train_loader) * n_epochs

    def schedule(s, peak):
        if s < warmup_steps:
            return initial_lr + s * (peak - initial_lr) / warmup_steps
        if s >= total - 1:
            return min_lr
        p = (s - warmup_steps) / (total - 1 - warmup_steps)
        return min_lr + 0.5 * (peak - min_lr) * (1 + math.cos(math.pi * p))

    @torch.no_grad()
    def evaluate(loader):
        losses = []
        for x, y in islice(loader, eval_iter):
            x, y = x.to(device), y.to(device)
            losses.append(criterion(model(x).transpose(1, 2), y).item())
        return sum(losses) / len(losses)

    s = 0
    tokens = 0
    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = schedule(s, peak)
            log["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss = criterion(model(x).transpose(1, 2), y)
            loss.backward()
            if not clip_after_warmup or s >= warmup_steps:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += 1
            s += 1
            if s % eval_freq == 0:
                log["train_losses"].append(evaluate(train_loader))
                log["val_losses"].append(evaluate(val_loader))
                log["tokens_seen"].append(tokens)
        if on_epoch_end:
            on_epoch_end(model)
            model.train()
    return log
