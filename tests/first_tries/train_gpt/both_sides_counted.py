# mistakes: counts-targets-too
# lines: 49
import math

import torch
import torch.nn.functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    peaks = [g["lr"] for g in optimizer.param_groups]
    total_steps = len(train_loader) * n_epochs

    def rate(s, peak):
        if s < warmup_steps:
            return initial_lr + s * (peak - initial_lr) / warmup_steps
        if s >= total_steps - 1:
            return min_lr
        return min_lr + (peak - min_lr) * 0.5 * (
            1 + math.cos(math.pi * (s - warmup_steps) / (total_steps - 1 - warmup_steps))
        )

    def cross_entropy(x, y):
        return F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())

    def evaluate(loader):
        losses = []
        with torch.no_grad():
            for (x, y), _ in zip(loader, range(eval_iter)):
                losses.append(cross_entropy(x, y).item())
        return sum(losses) / len(losses)

    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    seen = 0
    s = 0
    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = rate(s, peak)
            lrs.append(rate(s, peaks[0]))
            optimizer.zero_grad()
            cross_entropy(x, y).backward()
            if s >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += x.numel() + y.numel()  # 입력과 정답

            if s % eval_freq == 0:
                model.eval()
                train_losses.append(evaluate(train_loader))
                val_losses.append(evaluate(val_loader))
                model.train()
                tokens_seen.append(seen)
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
