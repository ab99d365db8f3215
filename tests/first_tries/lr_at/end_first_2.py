# mistakes: end-before-ramp, warmup-off-by-one, decays-to-zero, checks-decay-late
# lines: 8, 11, 16, 17
from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    # 마지막 스텝부터 처리
    if step >= total_steps - 1:
        return min_lr
    if step < warmup_steps:
        return initial_lr + (step + 1) * (peak_lr - initial_lr) / warmup_steps
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "cosine":
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + cos(pi * progress))
    if decay == "linear":
        return peak_lr * (1 - progress)
    raise ValueError(decay)
