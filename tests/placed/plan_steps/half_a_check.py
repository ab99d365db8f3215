import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio > 0.2:  # here: half-ratio-check
        raise ValueError(f"warmup_ratio: {warmup_ratio}")
    total = math.ceil(n_batches / accum_steps) * n_epochs
    warmup = max(1, round(total * warmup_ratio))
    return warmup, total  # here: swapped-returns
