# 교재의 루프를 따라 쓰고 약속에 맞게 고친 것
import math

import torch


def calc_loss_batch(input_batch, target_batch, model, device):
    input_batch, target_batch = input_batch.to(device), target_batch.to(device)
    logits = model(input_batch)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), target_batch.flatten())


def calc_loss_loader(data_loader, model, device, num_batches=None):
    total_loss = 0.0
    if num_batches is None:
        num_batches = len(data_loader)
    else:
        num_batches = min(num_batches, len(data_loader))
    for i, (input_batch, target_batch) in enumerate(data_loader):
        if i < num_batches:
            total_loss += calc_loss_batch(input_batch, target_batch, model, device).item()
        else:
            break
    return total_loss / num_batches


def evaluate_model(model, train_loader, val_loader, device, eval_iter):
    model.eval()
    with torch.no_grad():
        train_loss = calc_loss_loader(train_loader, model, device, num_batches=eval_iter)
        val_loss = calc_loss_loader(val_loader, model, device, num_batches=eval_iter)
    model.train()
    return train_loss, val_loss


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-05, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    train_losses, val_losses, track_tokens_seen, track_lrs = [], [], [], []
    tokens_seen, global_step = 0, -1
    peaks = [g["lr"] for g in optimizer.param_groups]
    total_training_steps = len(train_loader) * n_epochs

    for epoch in range(n_epochs):
        model.train()
        for input_batch, target_batch in train_loader:
            optimizer.zero_grad()
            global_step += 1
            for param_group, peak_lr in zip(optimizer.param_groups, peaks):
                if global_step < warmup_steps:
                    lr = initial_lr + global_step * (peak_lr - initial_lr) / warmup_steps
                elif global_step >= total_training_steps - 1:
                    lr = min_lr
                else:
                    progress = (global_step - warmup_steps) / (total_training_steps - 1 - warmup_steps)
                    lr = min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
                param_group["lr"] = lr
            track_lrs.append(optimizer.param_groups[0]["lr"])

            loss = calc_loss_batch(input_batch, target_batch, model, device)
            loss.backward()
            if global_step >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
            optimizer.step()
            tokens_seen += input_batch.numel()

            if global_step % eval_freq == 0:
                train_loss, val_loss = evaluate_model(model, train_loader, val_loader, device, eval_iter)
                train_losses.append(train_loss)
                val_losses.append(val_loss)
                track_tokens_seen.append(tokens_seen)
                print(f"Ep {epoch+1} (Iter {global_step:06d}): Train loss {train_loss:.3f}, Val loss {val_loss:.3f}")
        if on_epoch_end:
            on_epoch_end(model)
            model.train()

    return {
        "train_losses": train_losses,
        "val_losses": val_losses,
        "tokens_seen": track_tokens_seen,
        "lrs": track_lrs,
    }
