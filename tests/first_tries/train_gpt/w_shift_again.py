# mistakes: peak-from-decayed-lr, leaves-eval-mode, shifts-targets-twice, missing-first-eval
# lines: 51, 39, 26, 66
# hidden:
import math

import torch
import torch.nn.functional as F


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


def lm_loss(model, x, y):
    """다음 토큰 손실"""
    logits = model(x)
    logits = logits[:, :-1]  # 마지막 위치는 다음 글자가 없다
    y = y[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))


@torch.no_grad()
def look(model, loader, n, device):
    model.eval()
    found = []
    for number, (x, y) in enumerate(loader, start=1):
        found.append(lm_loss(model, x.to(device), y.to(device)).item())
        if number == n:
            break
    return sum(found) / len(found)


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False,
              on_epoch_end=None) -> dict:
    record = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    model.to(device)
    total = n_epochs * len(train_loader)
    s = tokens = 0
    for _ in range(n_epochs):
        model.train()
        peaks = [group["lr"] for group in optimizer.param_groups]  # 그룹마다 정점
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            for group, peak in zip(optimizer.param_groups, peaks):
                group["lr"] = lr_at(s, warmup_steps=warmup_steps, total_steps=total,
                                    initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr)
            record["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            loss = lm_loss(model, x, y)
            loss.backward()
            if s >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            s += 1
            if s % eval_freq == 0:
                record["train_losses"].append(look(model, train_loader, eval_iter, device))
                record["val_losses"].append(look(model, val_loader, eval_iter, device))
                record["tokens_seen"].append(tokens)
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return record
