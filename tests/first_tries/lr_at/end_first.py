# mistakes: end-before-ramp, peak-one-step-early, decays-to-zero, checks-decay-late
# lines: 9, 12, 19, 20
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    last = total_steps - 1
    if step >= last:
        return min_lr

    if step < warmup_steps:
        increment = (peak_lr - initial_lr) / (warmup_steps - 1)
        return initial_lr + increment * step

    progress = (step - warmup_steps) / (last - warmup_steps)
    if decay == "cosine":
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + math.cos(math.pi * progress))
    if decay == "linear":
        return max(min_lr, peak_lr * (1 - progress))
    raise ValueError(f"unknown decay: {decay}")
