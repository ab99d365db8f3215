# mistakes: divides-by-total, starts-at-zero, decays-to-zero, other-exception
# lines: 19, 15, 20, 11
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    shapes = {
        "cosine": lambda p: 0.5 * (1 + math.cos(math.pi * p)),
        "linear": lambda p: 1 - p,
    }
    shape = shapes[decay]

    if step < warmup_steps:
        frac = step / warmup_steps
        return frac * peak_lr
    elif step >= total_steps - 1:
        return min_lr
    else:
        p = (step - warmup_steps) / total_steps
        return peak_lr * shape(p)
