# expect: checks-decay-late
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        w = step / warmup_steps
        return (1 - w) * initial_lr + w * peak_lr
    last = total_steps - 1
    if step >= last:
        return min_lr
    p = (step - warmup_steps) / (last - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * math.cos(math.pi * p / 2) ** 2
    if decay == "linear":
        return peak_lr - p * (peak_lr - min_lr)
    raise ValueError(f"모르는 decay: {decay}")
