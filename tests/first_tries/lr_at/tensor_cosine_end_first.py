# mistakes: end-before-ramp, returns-tensor, decays-to-zero
# lines: 12, 21, 22

import math
import torch


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay not in ("cosine", "linear"):
        raise ValueError(f"unknown decay {decay!r}")
    last = total_steps - 1
    if step >= last:
        return min_lr

    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps

    t = (step - warmup_steps) / (last - warmup_steps)
    if decay == "cosine":
        c = torch.cos(torch.tensor(math.pi * t, dtype=torch.float64))
        return min_lr + 0.5 * (peak_lr - min_lr) * (1 + c)
    return peak_lr * (1 - t)
