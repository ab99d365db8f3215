# mistakes: leaves-callback-mode|missing-train-mode, eval-one-batch-more, clip-after-warmup-late
# lines: 64, 47, 62
# hidden:
import math

import torch
import torch.nn.functional as F


def _learning_rate(step, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


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
    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}

    def batch_loss(inputs, targets):
        logits = model(inputs.to(device))
        return F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())

    def loader_loss(loader):
        losses = []
        for i, (inputs, targets) in enumerate(loader):
            if i > eval_iter:
                break
            losses.append(batch_loss(inputs, targets).item())
        return sum(losses) / len(losses)

    def evaluate():
        model.eval()
        with torch.no_grad():
            record["train_losses"].append(loader_loss(train_loader))
            record["val_losses"].append(loader_loss(val_loader))
        model.train()

    def should_clip(s):
        if not clip_after_warmup:
            return True
        return s > warmup_steps

    model.train()
    step = 0
    tokens = 0
    for _ in range(n_epochs):
        for inputs, targets in train_loader:
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = _learning_rate(step, warmup_steps, total_steps, initial_lr, peak, min_lr)
            record["lrs"].append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            batch_loss(inputs, targets).backward()
            if should_clip(step):
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += inputs.numel()

            if step % eval_freq == 0:
                evaluate()
                record["tokens_seen"].append(tokens)
            step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
