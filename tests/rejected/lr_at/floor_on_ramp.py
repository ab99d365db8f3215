# expect: floor-on-ramp
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")
    if step < warmup_steps:
        lr = initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    elif step >= total_steps - 1:
        lr = min_lr
    else:
        progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
        share = 1 - progress if decay == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
        lr = min_lr + (peak_lr - min_lr) * share
    return max(lr, min_lr)
