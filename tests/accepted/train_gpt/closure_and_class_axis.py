import math

import torch
import torch.nn.functional as F


def clip(params, max_norm):
    """1e-6 없이 손으로 자릅니다."""
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > max_norm:
        torch._foreach_mul_(grads, (max_norm / norm).item())


def rate(s, W, T, lo, hi, end):
    if s < W:
        return lo * (1 - s / W) + hi * s / W
    if s >= T - 1:
        return end
    return end + (hi - end) * math.cos(math.pi / 2 * (s - W) / (T - 1 - W)) ** 2


def mean_loss(model, loader, n, device):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    losses = []
    with torch.no_grad():
        for _, (x, y) in zip(range(n), loader):
            losses.append(float(F.cross_entropy(model(x.to(device)).transpose(1, 2), y.to(device))))
    for m, mode in modes.items():
        m.training = mode
    return math.fsum(losses) / len(losses)


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    model.train()
    T = n_epochs * len(train_loader)
    peaks = [float(g["lr"]) for g in optimizer.param_groups]
    trains, vals, seen, lrs = [], [], [], []
    step, tokens = 0, 0
    for _ in range(n_epochs):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            for g, hi in zip(optimizer.param_groups, peaks):
                g["lr"] = rate(step, warmup_steps, T, initial_lr, hi, min_lr)
            lrs.append(rate(step, warmup_steps, T, initial_lr, peaks[0], min_lr))

            def closure():
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x).transpose(1, 2), y)
                loss.backward()
                if step >= warmup_steps or not clip_after_warmup:
                    clip(model.parameters(), max_norm)
                return loss

            optimizer.step(closure)
            tokens += y.numel()
            if not step % eval_freq:
                trains.append(mean_loss(model, train_loader, eval_iter, device))
                vals.append(mean_loss(model, val_loader, eval_iter, device))
                seen.append(tokens)
            step += 1
        if on_epoch_end:
            on_epoch_end(model)
    model.train()
    return {"lrs": lrs, "tokens_seen": seen, "train_losses": trains, "val_losses": vals}
