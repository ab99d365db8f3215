# mistakes: one-lr-for-all-groups, schedule-ends-after-one-epoch, leaves-callback-mode, missing-first-eval
# lines: 45, 46, 50, 69
import math

import torch
from torch.nn.functional import cross_entropy


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * t))


@torch.no_grad()
def eval_loss(model, loader, eval_iter, device):
    losses = []
    for _, (x, y) in zip(range(eval_iter), loader):
        x, y = x.to(device), y.to(device)
        logits = model(x)
        losses.append(cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1)).item())
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
    peak = optimizer.param_groups[0]["lr"]
    total_steps = len(train_loader)
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    seen = 0
    global_step = 0
    model.train()
    for epoch in range(n_epochs):
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            lr = lr_at(global_step, warmup_steps=warmup_steps, total_steps=total_steps,
                       initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr)
            for group in optimizer.param_groups:
                group["lr"] = lr
            lrs.append(lr)

            optimizer.zero_grad()
            logits = model(x)
            loss = cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
            loss.backward()
            if clip_after_warmup is False or global_step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += x.numel()

            if global_step > 0 and global_step % eval_freq == 0:
                model.eval()
                train_losses.append(eval_loss(model, train_loader, eval_iter, device))
                val_losses.append(eval_loss(model, val_loader, eval_iter, device))
                tokens_seen.append(seen)
                model.train()
            global_step += 1
        if on_epoch_end:
            on_epoch_end(model)
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
