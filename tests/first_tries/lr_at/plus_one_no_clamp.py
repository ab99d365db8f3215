# mistakes: warmup-off-by-one, never-reaches-min, rises-after-end, no-decay-check
# lines: 10, 12, 12, 15

import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        lr_increment = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + (step + 1) * lr_increment

    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
    else:
        return peak_lr - (peak_lr - min_lr) * progress
