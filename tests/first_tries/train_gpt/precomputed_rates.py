# mistakes: schedule-ends-after-one-epoch, callback-once
# lines: 13, 60
import math

import torch
import torch.nn.functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
):
    total_steps = len(train_loader)

    def lr_at_step(step, peak):
        if step < warmup_steps:
            return initial_lr + step * (peak - initial_lr) / warmup_steps
        if step >= total_steps - 1:
            return min_lr
        t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
        return min_lr + (peak - min_lr) * 0.5 * (1 + math.cos(math.pi * t))

    def batch_loss(x, y):
        return F.cross_entropy(model(x.to(device)).transpose(1, 2), y.to(device))

    @torch.no_grad()
    def estimate(loader):
        model.eval()
        losses = []
        for k, (x, y) in enumerate(loader):
            if k >= eval_iter:
                break
            losses.append(batch_loss(x, y).item())
        model.train()
        return sum(losses) / len(losses)

    peaks = [group["lr"] for group in optimizer.param_groups]
    out = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    step, tokens = 0, 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            for peak, group in zip(peaks, optimizer.param_groups):
                group["lr"] = lr_at_step(step, peak)
            out["lrs"].append(optimizer.param_groups[0]["lr"])
            optimizer.zero_grad()
            batch_loss(x, y).backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if step % eval_freq == 0:
                out["train_losses"].append(estimate(train_loader))
                out["val_losses"].append(estimate(val_loader))
                out["tokens_seen"].append(tokens)
            step += 1

    # 학습이 끝나면 글을 써 본다
    if on_epoch_end is not None:
        on_epoch_end(model)
        model.train()
    return out
