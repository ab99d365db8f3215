# mistakes: warmup-per-epoch, rejects-the-ends
# lines: 12, 8
from math import ceil


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    """total and warmup, counted in optimizer steps"""
    if not (0.001 < warmup_ratio < 0.2):
        raise ValueError("warmup_ratio must be between 0.001 and 0.2")

    per_epoch = ceil(n_batches / accum_steps)
    warmup = max(round(per_epoch * warmup_ratio), 1)
    total = per_epoch * n_epochs
    return (total, warmup)
