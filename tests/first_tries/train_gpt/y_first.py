# mistakes: clip-after-warmup-late, one-lr-for-all-groups, leaves-callback-mode
# lines: 63, 49, 53
# hidden:
import itertools
import math

import torch
import torch.nn.functional as F


def lr_at(step, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * t))


def batch_loss(model, x, y, device):
    logits = model(x.to(device))
    return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())


def mean_loss(model, loader, device, n):
    values = [batch_loss(model, x, y, device).item() for x, y in itertools.islice(loader, n)]
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
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    total_steps = n_epochs * len(train_loader)
    peak = optimizer.param_groups[0]["lr"]
    s = 0
    tokens = 0

    model.train()
    for _ in range(n_epochs):
        for x, y in train_loader:
            lr = lr_at(s, warmup_steps, total_steps, initial_lr, peak, min_lr)
            for group in optimizer.param_groups:
                group["lr"] = lr
            log["lrs"].append(lr)

            optimizer.zero_grad()
            batch_loss(model, x, y, device).backward()
            if not clip_after_warmup or s > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()

            # 평가
            if s % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    log["train_losses"].append(mean_loss(model, train_loader, device, eval_iter))
                    log["val_losses"].append(mean_loss(model, val_loader, device, eval_iter))
                log["tokens_seen"].append(tokens)
                model.train()
            s += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    model.train()
    return log
