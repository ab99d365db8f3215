# mistakes: peak-one-step-early, cosine-over-total, no-decay-check
# lines: 20, 28, 27

import math


def _cosine(t):
    return 0.5 * (1.0 + math.cos(math.pi * t))


def _linear(t):
    return 1.0 - t


SHAPES = {"cosine": _cosine, "linear": _linear}


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        frac = step / max(1, warmup_steps - 1)
        return initial_lr + frac * (peak_lr - initial_lr)

    if step >= total_steps - 1:
        return min_lr

    # 나머지 구간: peak -> min
    shape = SHAPES.get(decay, _cosine)
    t = step / (total_steps - 1)
    return min_lr + (peak_lr - min_lr) * shape(t)
