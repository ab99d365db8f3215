# mistakes: starts-at-zero, decays-to-zero, divides-by-zero
# lines: 13, 20, 16

from math import cos, pi


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError("decay should be 'cosine' or 'linear'")

    # 1) warmup 구간
    if step < warmup_steps:
        return peak_lr * step / warmup_steps

    # 2) decay 구간
    ratio = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    ratio = min(1.0, ratio) if warmup_steps < total_steps else 1.0
    if decay == "linear":
        return (1 - ratio) * peak_lr + ratio * min_lr
    return max(min_lr, peak_lr * 0.5 * (1 + cos(pi * ratio)))
