# mistakes: eval-one-batch-more, leaves-eval-mode, one-lr-for-all-groups, clip-after-warmup-late, tokens-count-samples
# lines: 28, 32, 53, 77, 81
# hidden:
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    down = 1 - progress if decay == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * down


def mean_loss(model, loader, device, eval_iter):
    model.eval()
    losses = []
    with torch.no_grad():
        for i, (x, y) in enumerate(loader):
            if i > eval_iter:
                break
            logits = model(x.to(device))
            losses.append(F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten()).item())
    return sum(losses) / len(losses)


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
    history = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peak_lr = optimizer.param_groups[0]["lr"]
    total_steps = len(train_loader) * n_epochs
    s, tokens = 0, 0

    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)

            lr = lr_at(
                s,
                warmup_steps=warmup_steps,
                total_steps=total_steps,
                initial_lr=initial_lr,
                peak_lr=peak_lr,
                min_lr=min_lr,
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            history["lrs"].append(lr)

            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            if not clip_after_warmup or s > warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()

            tokens += x.size(0)
            if s % eval_freq == 0:
                history["train_losses"].append(mean_loss(model, train_loader, device, eval_iter))
                history["val_losses"].append(mean_loss(model, val_loader, device, eval_iter))
                history["tokens_seen"].append(tokens)
            s += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    model.train()
    return history
