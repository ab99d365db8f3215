# mistakes: one-lr-for-all-groups, clip-after-warmup-late, tokens-count-samples, leaves-callback-mode
# lines: 57, 82, 85, 63
# hidden:
import math
from itertools import islice

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(f"모르는 decay: {decay}")
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
    return peak_lr + (min_lr - peak_lr) * progress


def calc_loss(model, xb, yb, device):
    logits = model(xb.to(device))
    return F.cross_entropy(logits.flatten(0, 1), yb.to(device).flatten())


def eval_loss(model, loader, eval_iter, device):
    model.eval()
    with torch.no_grad():
        losses = [calc_loss(model, xb, yb, device).item() for xb, yb in islice(loader, eval_iter)]
    model.train()
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
    model.to(device)
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    peak_lr = optimizer.param_groups[0]["lr"]  # 정점은 처음에 한 번 읽는다
    total_steps = len(train_loader) * n_epochs
    seen = 0
    step = 0

    model.train()
    for epoch in range(n_epochs):
        for xb, yb in train_loader:
            # 학습률
            lr = lr_at(
                step,
                warmup_steps=warmup_steps,
                total_steps=total_steps,
                initial_lr=initial_lr,
                peak_lr=peak_lr,
                min_lr=min_lr,
            )
            for group in optimizer.param_groups:
                group["lr"] = lr
            lrs.append(lr)

            # 다섯 줄
            optimizer.zero_grad()
            loss = calc_loss(model, xb, yb, device)
            loss.backward()
            if not clip_after_warmup or step > warmup_steps:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            seen += len(xb)

            # 평가
            if step % eval_freq == 0:
                train_losses.append(eval_loss(model, train_loader, eval_iter, device))
                val_losses.append(eval_loss(model, val_loader, eval_iter, device))
                tokens_seen.append(seen)
            step += 1

        if on_epoch_end is not None:
            on_epoch_end(model)

    model.train()
    return {"train_losses": train_losses, "val_losses": val_losses, "tokens_seen": tokens_seen, "lrs": lrs}
