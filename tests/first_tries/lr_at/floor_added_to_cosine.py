# mistakes: end-before-ramp, range-not-reduced, no-decay-check
# lines: 8, 17, 18
from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    last = total_steps - 1
    if step >= last:
        return min_lr

    if step < warmup_steps:
        slope = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + slope * step

    ratio = (step - warmup_steps) / (last - warmup_steps)
    if decay == "cosine":
        lr = min_lr + 0.5 * peak_lr * (1 + cos(pi * ratio))
    else:
        lr = peak_lr - ratio * (peak_lr - min_lr)
    return lr
