# mistakes: joins-epochs
# lines: 12
# hidden:
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError("warmup_ratio는 0.001에서 0.2 사이여야 합니다")

    all_batches = n_batches * n_epochs
    total = math.ceil(all_batches / accum_steps)
    warmup = round(total * warmup_ratio)
    return total, max(warmup, 1)
