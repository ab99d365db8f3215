# mistakes: starts-at-zero, never-reaches-min|ends-one-step-late, checks-decay-late
# lines: 9, 12, 17
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    if step >= total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * progress
    raise ValueError(f"decay: {decay}")
