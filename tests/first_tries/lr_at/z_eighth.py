# mistakes: never-reaches-min, checks-decay-late, end-before-ramp
# lines: 13, 18, 8
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step >= total_steps - 1:
        return min_lr
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps

    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * progress
    raise ValueError(f"모르는 decay입니다: {decay}")
