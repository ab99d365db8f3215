# mistakes: warmup-off-by-one, decays-to-zero, checks-decay-late
# lines: 9, 17, 19
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    if step < warmup_steps:
        return initial_lr + (peak_lr - initial_lr) * (step + 1) / warmup_steps
    if step >= total_steps - 1:
        return min_lr

    t = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "cosine":
        return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * t))
    elif decay == "linear":
        return peak_lr * (1 - t)
    else:
        raise ValueError(f"모르는 decay: {decay}")
