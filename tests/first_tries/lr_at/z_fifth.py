# mistakes: end-before-ramp, checks-decay-late, never-reaches-min
# lines: 9, 30, 17
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    # 1) 끝
    if step >= total_steps - 1:
        return float(min_lr)

    # 2) 오르막
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * step / warmup_steps

    # 3) 내리막
    progress = (step - warmup_steps) / (total_steps - warmup_steps)

    def cosine(t):
        return 0.5 * (1 + math.cos(math.pi * t))

    def linear(t):
        return 1 - t

    if decay == "cosine":
        height = cosine(progress)
    elif decay == "linear":
        height = linear(progress)
    else:
        raise ValueError(f"모르는 decay: {decay}")
    return min_lr + (peak_lr - min_lr) * height
