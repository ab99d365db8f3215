# hw3  오시우
import math
import torch
import torch.nn.functional as F
from grader import check


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError("warmup_ratio는 0.001~0.2")
    total = n_batches // accum_steps * n_epochs
    return total, max(1, round(total * warmup_ratio))


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * (step + 1) / warmup_steps   # 2주차처럼 k+1
    if decay == "cosine":
        f = lambda p: (math.cos(math.pi * p) + 1) / 2
    elif decay == "linear":
        f = lambda p: 1 - p
    else:
        raise ValueError("decay=" + decay)
    if step >= total_steps - 1:
        return min_lr
    return min_lr + (peak_lr - min_lr) * f((step - warmup_steps) / (total_steps - 1 - warmup_steps))


def clip_global_norm(params, max_norm):
    params = [p for p in params if p.grad is not None]
    norm = math.sqrt(sum((p.grad ** 2).sum().item() for p in params))
    if not math.isfinite(norm):
        raise RuntimeError("nan/inf")
    if norm > max_norm:
        for p in params:
            p.grad.clamp_(min=-max_norm, max=max_norm)
    return norm


# 스케줄은 안에 직접 씀 (lr_at 부르니까 느린 것 같아서)
def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
              initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    T = len(train_loader) * n_epochs
    peaks = [g["lr"] for g in optimizer.param_groups]

    def lr_for(peak, s):
        if s < warmup_steps:
            return initial_lr + s * (peak - initial_lr) / warmup_steps
        if s >= T - 1:
            return min_lr
        p = (s - warmup_steps) / (T - 1 - warmup_steps)
        return min_lr + 0.5 * (peak - min_lr) * (1 + math.cos(math.pi * p))

    def loss_fn(x, y):
        return F.cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())

    def eval_loss(loader):
        total, n = 0.0, 0
        with torch.no_grad():
            for x, y in loader:
                if n == eval_iter:
                    break
                total += loss_fn(x, y).item()
                n += 1
        return total / n

    out = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    s, tokens = 0, 0
    model.train()
    for e in range(n_epochs):
        for x, y in train_loader:
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = lr_for(peak, s)
            out["lrs"].append(lr_for(peaks[0], s))
            optimizer.zero_grad()
            loss_fn(x, y).backward()
            if s >= warmup_steps or not clip_after_warmup:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += x.numel()
            if s % eval_freq == 0:
                out["train_losses"].append(eval_loss(train_loader))
                out["val_losses"].append(eval_loss(val_loader))
                out["tokens_seen"].append(tokens)
            s += 1
        if on_epoch_end:
            on_epoch_end(model)
    return out


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    batches = list(micro_batches)
    if sum(int((y != ignore_index).sum()) for _, y in batches) == 0:
        raise ValueError("no valid token")
    n = sum(y.numel() for _, y in batches)     # 전체 토큰 수
    opt.zero_grad()
    tot = 0.0
    for x, y in batches:
        l = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum", ignore_index=ignore_index) / n
        l.backward()
        tot += l.item()
    opt.step()
    return tot


if __name__ == "__main__":
    for f in (plan_steps, lr_at, clip_global_norm, train_gpt, token_mean_accumulate):
        check(f)
