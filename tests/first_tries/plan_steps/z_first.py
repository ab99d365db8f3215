# mistakes: joins-epochs
# lines: 12
# hidden:
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError(f"warmup_ratio={warmup_ratio}")

    micro = n_batches * n_epochs
    steps = math.ceil(micro / accum_steps)

    warm = round(steps * warmup_ratio)
    if warm < 1:
        warm = 1
    return steps, warm
