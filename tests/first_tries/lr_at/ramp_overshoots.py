# mistakes: ramp-overshoots
# lines: 11
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in {"cosine", "linear"}:
        raise ValueError(decay)
    if step < warmup_steps:
        # 처음 값에서 시작해서 한 칸씩
        return initial_lr + peak_lr * step / warmup_steps
    if step >= total_steps - 1:
        return min_lr
    ratio = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    keep = 1 - ratio if decay == "linear" else (1 + math.cos(math.pi * ratio)) / 2
    return min_lr + (peak_lr - min_lr) * keep
