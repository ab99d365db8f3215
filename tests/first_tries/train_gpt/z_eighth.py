# mistakes: leaves-eval-mode, one-lr-for-all-groups, clip-after-warmup-late
# lines: 78, 39, 71
# hidden:
import itertools
import math

import torch
import torch.nn.functional as F


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


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
    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    total_number_of_steps = len(train_loader) * n_epochs
    peak_learning_rate = optimizer.param_groups[0]["lr"]
    number_of_tokens_seen = 0
    current_step = 0

    def loss_of_batch(input_tokens, target_tokens):
        logits = model(input_tokens.to(device))
        return F.cross_entropy(logits.flatten(0, 1), target_tokens.to(device).flatten())

    def mean_loss_of_loader(loader):
        model.eval()
        with torch.no_grad():
            losses = [loss_of_batch(x, y).item() for x, y in itertools.islice(loader, eval_iter)]
        return sum(losses) / len(losses)

    for epoch in range(n_epochs):
        model.train()
        for input_tokens, target_tokens in train_loader:
            for parameter_group in optimizer.param_groups:
                parameter_group["lr"] = lr_at(
                    current_step,
                    warmup_steps=warmup_steps,
                    total_steps=total_number_of_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak_learning_rate,
                    min_lr=min_lr,
                )
            record["lrs"].append(optimizer.param_groups[0]["lr"])

            optimizer.zero_grad()
            loss = loss_of_batch(input_tokens, target_tokens)
            loss.backward()
            del loss
            if not clip_after_warmup or current_step > warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            number_of_tokens_seen += input_tokens.numel()

            if current_step % eval_freq == 0:
                record["train_losses"].append(mean_loss_of_loader(train_loader))
                record["val_losses"].append(mean_loss_of_loader(val_loader))
                record["tokens_seen"].append(number_of_tokens_seen)
            current_step += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    model.train()
    return record
