# mistakes: starts-at-zero, never-reaches-min|ends-one-step-late, stays-at-peak, no-decay-check
# lines: 8, 9, 9, 13
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    t = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    t = min(t, 1.0)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * t))
    else:
        return peak_lr + (min_lr - peak_lr) * t
