# mistakes: one-lr-for-all-groups, leaves-callback-mode, clip-after-warmup-late, tokens-count-samples, divides-by-eval-iter
# lines: 67, 70, 88, 91, 34
# hidden:
import math

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 0.5 * (1 + math.cos(math.pi * progress)) if decay == "cosine" else 1 - progress
    return min_lr + (peak_lr - min_lr) * height


def calc_loss_batch(x, y, model, device):
    x, y = x.to(device), y.to(device)
    logits = model(x)
    return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def calc_loss_loader(loader, model, device, num_batches):
    total_loss = 0.0
    for i, (x, y) in enumerate(loader):
        if i >= num_batches:
            break
        total_loss += calc_loss_batch(x, y, model, device).item()
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
    model.to(device)
    train_losses, val_losses, track_tokens_seen, track_lrs = [], [], [], []
    tokens_seen, global_step = 0, 0

    peak_lr = optimizer.param_groups[0]["lr"]
    total_steps = len(train_loader) * n_epochs

    model.train()
    for epoch in range(n_epochs):
        for x, y in train_loader:
            lr = lr_at(
                global_step,
                warmup_steps=warmup_steps,
                total_steps=total_steps,
                initial_lr=initial_lr,
                peak_lr=peak_lr,
                min_lr=min_lr,
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            track_lrs.append(lr)

            optimizer.zero_grad()
            loss = calc_loss_batch(x, y, model, device)
            loss.backward()
            if not clip_after_warmup or global_step > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
            optimizer.step()
            tokens_seen += x.shape[0]

            if global_step % eval_freq == 0:
                train_loss, val_loss = evaluate_model(model, train_loader, val_loader, device, eval_iter)
                train_losses.append(train_loss)
                val_losses.append(val_loss)
                track_tokens_seen.append(tokens_seen)
            global_step += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    return {
        "train_losses": train_losses,
        "val_losses": val_losses,
        "tokens_seen": track_tokens_seen,
        "lrs": track_lrs,
    }
