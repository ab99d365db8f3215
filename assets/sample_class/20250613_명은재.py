# 20250613 명은재  새벽 3시 제출... 내일 다시 봐야지
import math
import sys
import torch
import torch.nn.functional as F


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio > 0.2 or warmup_ratio < 0.001:
        raise ValueError("ratio")
    total = math.ceil(n_batches / accum_steps) * n_epochs
    warmup = max(1, round(total * warmup_ratio))
    return warmup, total


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay != "cosine" and decay != "linear":
        raise ValueError("cosine | linear")
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    p = (step - warmup_steps) / max(1, total_steps - 1 - warmup_steps)
    if decay == "linear":
        return min_lr + (peak_lr - min_lr) * (1 - p)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * p))


def global_norm(grads):
    return math.sqrt(sum(float(g.pow(2).sum()) for g in grads))


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    norm = global_norm(grads)
    if not math.isfinite(norm):
        raise RuntimeError("inf/nan")
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return global_norm(grads)


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    total_steps = n_epochs * len(train_loader)
    peaks = [g["lr"] for g in optimizer.param_groups]
    train_losses, val_losses, tokens_seen, lrs = [], [], [], []
    step = tokens = 0

    def loss_of(batch):
        x, y = batch
        out = model(x.to(device))
        return F.cross_entropy(out.permute(0, 2, 1), y.to(device))

    def check_loss(loader):
        model.eval()
        vals = []
        with torch.no_grad():
            for batch in loader:
                vals.append(loss_of(batch).item())
                if len(vals) == eval_iter:
                    break
        model.train()
        return sum(vals) / len(vals)

    model.train()
    for epoch in range(n_epochs):
        for batch in train_loader:
            for i, g in enumerate(optimizer.param_groups):
                g["lr"] = lr_at(step, warmup_steps=warmup_steps, total_steps=total_steps, initial_lr=initial_lr,
                                peak_lr=peaks[i], min_lr=min_lr)
            lrs.append(optimizer.param_groups[0]["lr"])
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens += 1
            if step % eval_freq == 0:
                train_losses.append(check_loss(train_loader))
                val_losses.append(check_loss(val_loader))
                tokens_seen.append(tokens)
            step += 1
            # print(step, loss.item(), file=sys.stderr)
        if on_epoch_end is not None:
            on_epoch_end(model)
    return dict(train_losses=train_losses, val_losses=val_losses, tokens_seen=tokens_seen, lrs=lrs)


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    micro_batches = list(micro_batches)
    n = sum((y != ignore_index).sum().item() for _, y in micro_batches)
    n = max(n, 1)      # 0으로 나누기 방지
    opt.zero_grad()
    total = 0.0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x).permute(0, 2, 1), y, ignore_index=ignore_index, reduction="sum") / n
        loss.backward()
        total += loss.item()
    opt.step()
    return total
