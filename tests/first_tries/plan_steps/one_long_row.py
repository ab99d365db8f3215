# mistakes: rejects-the-ends, joins-epochs, warmup-counts-micro-batches
# lines: 7, 11, 12
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    ok = 0.001 < warmup_ratio < 0.2
    if not ok:
        raise ValueError(f"warmup_ratio={warmup_ratio}")
    n_micro = n_batches * n_epochs
    n_steps = math.ceil(n_micro / accum_steps)
    n_warmup = max(1, round(warmup_ratio * n_micro))
    return n_steps, n_warmup
