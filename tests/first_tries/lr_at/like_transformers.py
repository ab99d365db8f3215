# mistakes: starts-at-zero, never-reaches-min|ends-one-step-late
# lines: 12, 15
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")

    # 1) warmup
    if step < warmup_steps:
        return peak_lr * step / warmup_steps

    # 2) finished
    if step >= total_steps:
        return min_lr

    # 3) decay
    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    if decay == "linear":
        factor = 1.0 - progress
    else:
        factor = 0.5 * (1.0 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * factor
