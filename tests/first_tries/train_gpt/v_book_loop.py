# mistakes: leaves-callback-mode, peak-from-decayed-lr, always-clips-after-warmup, tokens-every-step
# lines: 53, 60, 71, 76
# hidden:
import math
from itertools import islice

import torch
from torch import nn


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


def calc_loss_batch(input_batch, target_batch, model, device):
    input_batch, target_batch = input_batch.to(device), target_batch.to(device)
    logits = model(input_batch)
    return nn.functional.cross_entropy(logits.flatten(0, 1), target_batch.flatten())


def calc_loss_loader(loader, model, device, num_batches):
    total_loss, n = 0.0, 0
    for input_batch, target_batch in islice(loader, num_batches):
        total_loss += calc_loss_batch(input_batch, target_batch, model, device).item()
        n += 1
    return total_loss / n


def evaluate_model(model, train_loader, val_loader, device, eval_iter):
    model.eval()
    with torch.no_grad():
        train_loss = calc_loss_loader(train_loader, model, device, eval_iter)
        val_loss = calc_loss_loader(val_loader, model, device, eval_iter)
    model.train()
    return train_loss, val_loss


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False,
              on_epoch_end=None):
    train_losses, val_losses, track_tokens_seen, track_lrs = [], [], [], []
    tokens_seen, global_step = 0, -1
    total_training_steps = len(train_loader) * n_epochs

    model.train()
    for epoch in range(n_epochs):
        for input_batch, target_batch in train_loader:
            optimizer.zero_grad()
            global_step += 1

            for param_group in optimizer.param_groups:
                peak_lr = param_group["lr"]
                param_group["lr"] = lr_at(
                    global_step, warmup_steps=warmup_steps, total_steps=total_training_steps,
                    initial_lr=initial_lr, peak_lr=peak_lr, min_lr=min_lr,
                )
            track_lrs.append(optimizer.param_groups[0]["lr"])

            loss = calc_loss_batch(input_batch, target_batch, model, device)
            loss.backward()

            # 워밍업이 끝나면 클리핑
            if global_step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)

            optimizer.step()
            tokens_seen += input_batch.numel()
            track_tokens_seen.append(tokens_seen)

            if global_step % eval_freq == 0:
                train_loss, val_loss = evaluate_model(model, train_loader, val_loader, device, eval_iter)
                train_losses.append(train_loss)
                val_losses.append(val_loss)

        if on_epoch_end:
            on_epoch_end(model)

    return {
        "train_losses": train_losses,
        "val_losses": val_losses,
        "tokens_seen": track_tokens_seen,
        "lrs": track_lrs,
    }
