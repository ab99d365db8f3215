import math

import torch
import torch.nn.functional as F


def _rate(step, warmup, total, start, peak, low):
    if step < warmup:
        return start + step * (peak - start) / warmup
    if step >= total - 1:
        return low
    t = (step - warmup) / (total - 1 - warmup)
    return low + 0.5 * (peak - low) * (1 + math.cos(math.pi * t))


def calc_loss_batch(x, y, model, device):
    logits = model(x.to(device))
    return F.cross_entropy(logits.flatten(0, 1), y.to(device).flatten())


def calc_loss_loader(loader, model, device, num_batches):
    num_batches = min(num_batches, len(loader))
    total = 0.0
    for i, (x, y) in enumerate(loader):
        if i >= num_batches:
            break
        total += calc_loss_batch(x, y, model, device).item()
    return total / num_batches


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
):
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    peaks = [group["lr"] for group in optimizer.param_groups]
    total_steps = len(train_loader) * n_epochs
    tokens, step = 0, 0
    for epoch in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = _rate(step, warmup_steps, total_steps, initial_lr, peak, min_lr)
            lrs.append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss = calc_loss_batch(x, y, model, device)
            loss.backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if step % eval_freq == 0:
                train_loss, val_loss = evaluate_model(model, train_loader, val_loader, device, eval_iter)
                train_losses.append(train_loss)
                val_losses.append(val_loss)
                tokens_seen.append(tokens)
            step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)  # after: ends-in-callback-mode
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
