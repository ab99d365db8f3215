# mistakes: end-before-ramp, decays-to-zero, checks-decay-late
# lines: 11, 22, 24
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    last = total_steps - 1

    if step >= last:
        return min_lr

    if step < warmup_steps:
        slope = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + slope * step

    t = (step - warmup_steps) / (last - warmup_steps)  # 0 -> 1

    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * (1 + math.cos(math.pi * t)) / 2
    elif decay == "linear":
        return max(min_lr, peak_lr * (1 - t))
    else:
        raise ValueError(f"decay: {decay}")
