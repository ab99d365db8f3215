# mistakes: schedule-one-step-early, peak-from-decayed-lr, records-step-loss, lrs-per-evaluation
# lines: 49, 56, 68, 75
import math

import torch
import torch.nn.functional as F


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
    model = model.to(device)
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    total_steps = n_epochs * len(train_loader)
    step, tokens = 0, 0

    def run(x, y):
        return F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())

    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = lr_at(
                    step,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=group["lr"],
                    min_lr=min_lr,
                )
            optimizer.zero_grad()
            loss = run(x, y)
            loss.backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += y.numel()

            if (step - 1) % eval_freq == 0:
                train_losses.append(loss.item())
                model.eval()
                with torch.no_grad():
                    some = [run(vx, vy).item() for _, (vx, vy) in zip(range(eval_iter), val_loader)]
                model.train()
                val_losses.append(sum(some) / len(some))
                tokens_seen.append(tokens)
                lrs.append(optimizer.param_groups[0]["lr"])
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return dict(train_losses=train_losses, val_losses=val_losses, tokens_seen=tokens_seen, lrs=lrs)
