# mistakes: one-lr-for-all-groups, never-reaches-min, clips-past-warmup-only
# lines: 56, 69, 77
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def calc_loss_batch(input_batch, target_batch, model, device):
    input_batch, target_batch = input_batch.to(device), target_batch.to(device)
    logits = model(input_batch)
    return F.cross_entropy(logits.flatten(0, 1), target_batch.flatten())


def calc_loss_loader(loader, model, device, num_batches):
    total_loss = 0.0
    num_batches = min(num_batches, len(loader))
    for i, (input_batch, target_batch) in enumerate(loader):
        if i < num_batches:
            total_loss += calc_loss_batch(input_batch, target_batch, model, device).item()
        else:
            break
    return total_loss / num_batches


def evaluate_model(model, train_loader, val_loader, device, eval_iter):
    model.eval()
    with torch.no_grad():
        train_loss = calc_loss_loader(train_loader, model, device, eval_iter)
        val_loss = calc_loss_loader(val_loader, model, device, eval_iter)
    model.train()
    return train_loss, val_loss


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
    train_losses, val_losses, track_tokens_seen, track_lrs = [], [], [], []
    tokens_seen, global_step = 0, -1

    peak_lr = optimizer.param_groups[0]["lr"]
    total_training_steps = len(train_loader) * n_epochs
    lr_increment = (peak_lr - initial_lr) / max(1, warmup_steps)

    for epoch in range(n_epochs):
        model.train()
        for input_batch, target_batch in train_loader:
            optimizer.zero_grad()
            global_step += 1

            if global_step < warmup_steps:
                lr = initial_lr + global_step * lr_increment
            else:
                progress = (global_step - warmup_steps) / (total_training_steps - warmup_steps)
                lr = min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
            for param_group in optimizer.param_groups:
                param_group["lr"] = lr
            track_lrs.append(lr)

            loss = calc_loss_batch(input_batch, target_batch, model, device)
            loss.backward()
            if global_step > warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens_seen += input_batch.numel()

            if global_step % eval_freq == 0:
                train_loss, val_loss = evaluate_model(model, train_loader, val_loader, device, eval_iter)
                train_losses.append(train_loss)
                val_losses.append(val_loss)
                track_tokens_seen.append(tokens_seen)
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()

    return {
        "train_losses": train_losses,
        "val_losses": val_losses,
        "tokens_seen": track_tokens_seen,
        "lrs": track_lrs,
    }
