# mistakes: warmup-off-by-one, never-reaches-min|ends-one-step-late, no-decay-check
# lines: 9, 12, 15
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step < warmup_steps:
        inc = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + (step + 1) * inc
    if step >= total_steps:
        return min_lr
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * progress))
    else:
        return peak_lr - (peak_lr - min_lr) * progress
