# mistakes: warmup-off-by-one, never-reaches-min, checks-decay-late
# lines: 9, 14, 20
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    # 1) linear warmup
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * (step + 1) / warmup_steps
    # 2) past the end
    if step >= total_steps:
        return min_lr
    # 3) decay
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        coeff = 0.5 * (1.0 + math.cos(math.pi * progress))
    elif decay == "linear":
        coeff = 1.0 - progress
    else:
        raise ValueError(f"unknown decay: {decay}")
    return min_lr + coeff * (peak_lr - min_lr)
