# mistakes: starts-at-zero, rises-after-end, divides-by-zero, never-reaches-min, range-not-reduced
# lines: 13, 15, 15, 16, 20
# hidden: divides-by-zero
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)

    # 1) linear warmup
    if step < warmup_steps:
        return peak_lr * step / warmup_steps

    # 2) decay
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * progress
    coeff = 0.5 * (1.0 + math.cos(math.pi * progress))
    return min_lr + coeff * peak_lr
