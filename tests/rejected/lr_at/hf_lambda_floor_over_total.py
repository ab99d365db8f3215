# expect: decays-to-zero
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay != "cosine" and decay != "linear":
        raise ValueError(f"{decay}?")
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * (step / warmup_steps)
    if step >= total_steps - 1:
        return min_lr
    floor = min_lr / peak_lr
    progress = (step - warmup_steps) / total_steps
    scale = 0.5 * (1.0 + math.cos(math.pi * progress)) if decay == "cosine" else 1.0 - progress
    return peak_lr * max(floor, scale)
