# mistakes: shifts-targets-twice, divides-by-eval-iter, lr-after-step, tokens-count-samples
# lines: 26, 36, 71, 81
import math

import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


# 연습 2에서 쓴 것
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - progress if decay == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * height


def next_token_loss(model, ids, answers):
    logits = model(ids)
    shifted = logits[:, :-1, :]
    answers = answers[:, 1:]
    return F.cross_entropy(shifted.reshape(-1, shifted.shape[-1]), answers.reshape(-1))


def estimate(model, loader, eval_iter, device):
    total = 0.0
    for count, (ids, answers) in enumerate(loader, 1):
        total += next_token_loss(model, ids.to(device), answers.to(device)).item()
        if count == eval_iter:
            break
    return total / eval_iter


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
    log = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    peaks = [g["lr"] for g in optimizer.param_groups]
    total_steps = n_epochs * len(train_loader)
    s = 0
    seen = 0
    for _ in range(n_epochs):
        model.train()
        for ids, answers in train_loader:
            ids, answers = ids.to(device), answers.to(device)
            optimizer.zero_grad()
            loss = next_token_loss(model, ids, answers)
            loss.backward()
            if s >= warmup_steps or not clip_after_warmup:
                clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = lr_at(
                    s,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak,
                    min_lr=min_lr,
                )
            log["lrs"].append(optimizer.param_groups[0]["lr"])
            seen += len(ids)
            if s % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    log["train_losses"].append(estimate(model, train_loader, eval_iter, device))
                    log["val_losses"].append(estimate(model, val_loader, eval_iter, device))
                log["tokens_seen"].append(seen)
                model.train()
            s += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return log
