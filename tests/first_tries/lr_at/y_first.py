# mistakes: never-reaches-min, checks-decay-late
# lines: 18, 24
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    # 오르막
    if step < warmup_steps:
        slope = (peak_lr - initial_lr) / warmup_steps
        return initial_lr + slope * step

    # 끝
    if step >= total_steps - 1:
        return min_lr

    # 내리막: 1에서 0으로
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    if decay == "cosine":
        left = 0.5 * (1 + math.cos(math.pi * progress))
    elif decay == "linear":
        left = 1 - progress
    else:
        raise ValueError(f"모르는 decay: {decay}")
    return min_lr + (peak_lr - min_lr) * left
