from math import cos, pi

DECAYS = {"cosine": lambda p: (1 + cos(pi * p)) / 2, "linear": lambda p: 1 - p}


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in DECAYS:
        raise ValueError(decay)
    end = total_steps - 1
    if step >= end and step >= warmup_steps:
        return min_lr
    if step <= warmup_steps and warmup_steps:
        return initial_lr + (peak_lr - initial_lr) / warmup_steps * step
    return min_lr + (peak_lr - min_lr) * DECAYS[decay]((step - warmup_steps) / (end - warmup_steps))
