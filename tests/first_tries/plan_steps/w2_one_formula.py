# mistakes: rejects-the-ends, joins-epochs, truncates-warmup|floor-warmup, no-minimum-warmup|floor-warmup
# lines: 8, 10, 11, 12
# hidden:
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 < warmup_ratio < 0.2:
        raise ValueError("warmup_ratio must be between 0.001 and 0.2")
    total_steps = math.ceil(n_batches * n_epochs / accum_steps)
    warmup_steps = int(total_steps * warmup_ratio)
    return total_steps, warmup_steps
