# mistakes: schedule-ends-after-one-epoch, counts-from-one, clips-only-when-asked, eval-in-train-mode, lrs-per-evaluation
# lines: 58, 65, 71, 76, 79
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


@torch.no_grad()
def mean_loss(model, loader, how_many):
    values = []
    for x, y in loader:
        if len(values) == how_many:
            break
        here = next(model.parameters()).device
        x, y = x.to(here), y.to(here)
        values.append(F.cross_entropy(model(x).transpose(1, 2), y).item())
    return sum(values) / len(values)


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
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    tokens = 0
    step = 0
    peaks = [group["lr"] for group in optimizer.param_groups]
    plan = {
        "warmup_steps": warmup_steps,
        "total_steps": len(train_loader),
        "initial_lr": initial_lr,
        "min_lr": min_lr,
    }
    for epoch in range(1, n_epochs + 1):
        model.train()
        for x, y in train_loader:
            step += 1
            for group, peak in zip(optimizer.param_groups, peaks, strict=True):
                group["lr"] = lr_at(step, peak_lr=peak, **plan)
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            F.cross_entropy(model(x).transpose(1, 2), y).backward()
            if clip_after_warmup and step >= warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if step % eval_freq == 0:
                train_losses.append(mean_loss(model, train_loader, eval_iter))
                val_losses.append(mean_loss(model, val_loader, eval_iter))
                tokens_seen.append(tokens)
                lrs.append(optimizer.param_groups[0]["lr"])
        if on_epoch_end:
            on_epoch_end(model)
    model.train()
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
