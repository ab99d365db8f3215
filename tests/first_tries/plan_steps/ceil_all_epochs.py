# mistakes: joins-epochs, no-minimum-warmup, rejects-the-ends
# lines: 12, 13, 8

import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if not (0.001 < warmup_ratio < 0.2):
        raise ValueError(f"warmup_ratio out of range: {warmup_ratio}")

    all_batches = n_batches * n_epochs
    total = math.ceil(all_batches / accum_steps)
    warmup = round(total * warmup_ratio)
    return total, warmup
