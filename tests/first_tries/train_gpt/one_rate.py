# mistakes: one-lr-for-all-groups, divides-by-eval-iter
# lines: 14, 29
import math

import torch
import torch.nn.functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    train_losses, val_losses, track_tokens, track_lrs = [], [], [], []
    peak_lr = optimizer.param_groups[0]["lr"]
    total_steps = n_epochs * len(train_loader)
    tokens_seen, global_step = 0, -1

    def loss_of(x, y):
        x, y = x.to(device), y.to(device)
        logits = model(x)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    def loader_loss(loader):
        total = 0.0
        for i, (x, y) in enumerate(loader):
            if i >= eval_iter:
                break
            total += loss_of(x, y).item()
        return total / eval_iter

    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            global_step += 1
            if global_step < warmup_steps:
                lr = initial_lr + global_step * (peak_lr - initial_lr) / warmup_steps
            elif global_step >= total_steps - 1:
                lr = min_lr
            else:
                progress = (global_step - warmup_steps) / (total_steps - 1 - warmup_steps)
                lr = min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
            for group in optimizer.param_groups:
                group["lr"] = lr
            track_lrs.append(lr)

            optimizer.zero_grad()
            loss = loss_of(x, y)
            loss.backward()
            if not clip_after_warmup or global_step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens_seen += x.numel()

            if global_step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    train_losses.append(loader_loss(train_loader))
                    val_losses.append(loader_loss(val_loader))
                model.train()
                track_tokens.append(tokens_seen)
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return {
        "train_losses": train_losses,
        "val_losses": val_losses,
        "tokens_seen": track_tokens,
        "lrs": track_lrs,
    }
