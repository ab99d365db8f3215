# mistakes: 코사인에 1을 더하지 않아 뒤 절반에서 min_lr 아래로 내려감
# lines: 16
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay != "cosine" and decay != "linear":
        raise ValueError(decay)
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "linear":
        return peak_lr + (min_lr - peak_lr) * t
    return min_lr + (peak_lr - min_lr) * math.cos(math.pi * t)
