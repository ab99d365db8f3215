# mistakes: joins-epochs, half-ratio-check, no-minimum-warmup, swapped-returns
# lines: 10, 7, 11, 12
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if warmup_ratio > 0.2:
        raise ValueError(f"warmup_ratio가 너무 큽니다: {warmup_ratio}")
    all_batches = n_batches * n_epochs
    total = math.ceil(all_batches / accum_steps)
    warmup = round(total * warmup_ratio)
    return warmup, total
