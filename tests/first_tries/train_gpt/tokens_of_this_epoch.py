# mistakes: tokens-start-anew, callback-not-optional, eval-one-batch-more
# lines: 35, 62, 26
import math

import torch
import torch.nn as nn


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    loss_fn = nn.CrossEntropyLoss()
    train_losses, val_losses, tokens_list, lrs = [], [], [], []
    peak_lrs = [group["lr"] for group in optimizer.param_groups]
    total_steps = len(train_loader) * n_epochs

    def calc(inputs, targets):
        logits = model(inputs.to(device))
        b, t, v = logits.shape
        return loss_fn(logits.view(b * t, v), targets.to(device).reshape(b * t))

    def mean_loss(loader):
        total, count = 0.0, 0
        for i, (inputs, targets) in enumerate(loader):
            if i > eval_iter:
                break
            total += calc(inputs, targets).item()
            count += 1
        return total / count

    step = 0
    for epoch in range(n_epochs):
        model.train()
        tokens_seen = 0
        for inputs, targets in train_loader:
            for group, peak_lr in zip(optimizer.param_groups, peak_lrs):
                if step < warmup_steps:
                    group["lr"] = initial_lr + step * (peak_lr - initial_lr) / warmup_steps
                elif step >= total_steps - 1:
                    group["lr"] = min_lr
                else:
                    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
                    group["lr"] = min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
            lrs.append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            calc(inputs, targets).backward()
            if clip_after_warmup is False or step >= warmup_steps:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
            optimizer.step()
            tokens_seen += inputs.numel()

            if step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    train_losses.append(mean_loss(train_loader))
                    val_losses.append(mean_loss(val_loader))
                tokens_list.append(tokens_seen)
                model.train()
            step += 1
        on_epoch_end(model)
        model.train()

    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_list, "lrs": lrs}
