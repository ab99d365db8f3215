import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    per_epoch = -(-n_batches // accum_steps)
    if warmup_ratio <= 0.001 or warmup_ratio >= 0.2:  # here: rejects-the-ends
        raise ValueError("warmup_ratio must be in [0.001, 0.2]")
    total = per_epoch * n_epochs
    warmup = max(round(total * warmup_ratio), 1)
    return total, warmup
