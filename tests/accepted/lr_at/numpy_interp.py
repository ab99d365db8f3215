import numpy as np


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay == "cosine":
        shape = lambda p: 0.5 + 0.5 * np.cos(np.pi * p)
    elif decay == "linear":
        shape = lambda p: 1.0 - p
    else:
        raise ValueError("decay")
    if step < warmup_steps:
        return float(np.interp(step, [0, warmup_steps], [initial_lr, peak_lr]))
    length = max(1, total_steps - 1 - warmup_steps)
    progress = 1.0 if step >= total_steps - 1 else (step - warmup_steps) / length
    return float(min_lr + (peak_lr - min_lr) * shape(min(progress, 1.0)))
