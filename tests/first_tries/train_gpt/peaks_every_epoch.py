# mistakes: peak-from-decayed-lr, eval-builds-graph, leaves-eval-mode, tokens-count-samples, clip-after-warmup-late
# lines: 40, 35, 55, 52, 49
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    total_steps = len(train_loader) * n_epochs
    step, tokens = 0, 0

    def get_lr(s, peak):
        if s < warmup_steps:
            return initial_lr + s * (peak - initial_lr) / warmup_steps
        if s >= total_steps - 1:
            return min_lr
        t = (s - warmup_steps) / (total_steps - 1 - warmup_steps)
        return min_lr + (peak - min_lr) * 0.5 * (1 + math.cos(math.pi * t))

    def calc_loss(x, y):
        logits = model(x.to(device))
        return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())

    def calc_loader_loss(loader):
        losses = []
        for i, (x, y) in enumerate(loader):
            if i == eval_iter:
                break
            losses.append(calc_loss(x, y).item())
        return sum(losses) / len(losses)

    for epoch in range(n_epochs):
        model.train()
        peaks = [group["lr"] for group in optimizer.param_groups]
        for x, y in train_loader:
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = get_lr(step, peak)
            lrs.append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            loss = calc_loss(x, y)
            loss.backward()
            if not clip_after_warmup or step > warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.shape[0]

            if step % eval_freq == 0:
                model.eval()
                train_losses.append(calc_loader_loss(train_loader))
                val_losses.append(calc_loader_loss(val_loader))
                tokens_seen.append(tokens)
            step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
