# mistakes: shifts-targets-twice, leaves-eval-mode, leaves-callback-mode, tokens-count-samples
# lines: 24, 30, 63, 83
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


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


def next_char_loss(model, x, y):
    logits = model(x)
    logits, y = logits[:, :-1], y[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))


@torch.no_grad()
def mean_loss(model, loader, how_many, device):
    model.eval()
    got = []
    for x, y in loader:
        if len(got) == how_many:
            break
        got.append(next_char_loss(model, x.to(device), y.to(device)).item())
    return sum(got) / len(got)


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
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peaks = [group["lr"] for group in optimizer.param_groups]
    total = n_epochs * len(train_loader)
    seen = 0
    s = 0

    model.to(device)
    model.train()
    for epoch in range(n_epochs):
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = lr_at(
                    s,
                    warmup_steps=warmup_steps,
                    total_steps=total,
                    initial_lr=initial_lr,
                    peak_lr=peak,
                    min_lr=min_lr,
                )
            log["lrs"].append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            next_char_loss(model, x, y).backward()
            if s >= warmup_steps or not clip_after_warmup:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += x.size(0)

            if s % eval_freq == 0:
                log["train_losses"].append(mean_loss(model, train_loader, eval_iter, device))
                log["val_losses"].append(mean_loss(model, val_loader, eval_iter, device))
                log["tokens_seen"].append(seen)
            s += 1
        if on_epoch_end:
            on_epoch_end(model)
    return log
