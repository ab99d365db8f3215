# mistakes: starts-at-zero, warmup-off-by-one, divides-by-zero, never-reaches-min, no-decay-check
# lines: 10, 10, 12, 15, 19
# hidden: divides-by-zero
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    # 1) linear warmup
    if step < warmup_steps:
        return peak_lr * (step + 1) / warmup_steps
    # 2) after the end of the schedule
    if step > total_steps:
        return min_lr
    # 3) decay in between
    ratio = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        coeff = 0.5 * (1.0 + math.cos(math.pi * ratio))
    else:
        coeff = 1.0 - ratio
    return min_lr + coeff * (peak_lr - min_lr)
