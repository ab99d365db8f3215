# mistakes: one-lr-for-all-groups, eval-before-update, eval-in-train-mode, divides-by-eval-iter, ends-in-callback-mode
# lines: 44, 64, 29, 34, 73

import math
import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    k = 0.5 * (1 + math.cos(math.pi * t)) if decay == "cosine" else 1 - t
    return min_lr + (peak_lr - min_lr) * k


def calc_loss_batch(x, y, model, device):
    x, y = x.to(device), y.to(device)
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def calc_loss_loader(loader, model, device, num_batches):
    total = 0.0
    with torch.no_grad():
        for i, (x, y) in enumerate(loader):
            if i >= num_batches:
                break
            total += calc_loss_batch(x, y, model, device).item()
    return total / num_batches


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq,
              eval_iter, warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0,
              clip_after_warmup=False, on_epoch_end=None):
    train_losses, val_losses, track_tokens, track_lrs = [], [], [], []
    tokens_seen = 0
    global_step = 0
    total_steps = len(train_loader) * n_epochs
    peak_lr = optimizer.param_groups[0]["lr"]
    model.to(device)

    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            lr = lr_at(global_step, warmup_steps=warmup_steps, total_steps=total_steps,
                       initial_lr=initial_lr, peak_lr=peak_lr, min_lr=min_lr)
            for group in optimizer.param_groups:
                group["lr"] = lr
            track_lrs.append(lr)

            optimizer.zero_grad()
            loss = calc_loss_batch(x, y, model, device)
            loss.backward()
            if not clip_after_warmup or global_step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            tokens_seen += x.numel()

            # 일정 간격으로 평가
            if global_step % eval_freq == 0:
                train_losses.append(calc_loss_loader(train_loader, model, device, eval_iter))
                val_losses.append(calc_loss_loader(val_loader, model, device, eval_iter))
                track_tokens.append(tokens_seen)

            optimizer.step()
            global_step += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    return {"train_losses": train_losses, "val_losses": val_losses,
            "tokens_seen": track_tokens, "lrs": track_lrs}
