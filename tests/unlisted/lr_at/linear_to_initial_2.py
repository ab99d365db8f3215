# mistakes: linear 내리막이 min_lr이 아니라 initial_lr 쪽으로 내려감
# lines: 16
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay: {decay}")
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    last = total_steps - 1
    if step >= last:
        return min_lr
    progress = (step - warmup_steps) / (last - warmup_steps)
    if decay == "linear":
        return peak_lr - (peak_lr - initial_lr) * progress
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
