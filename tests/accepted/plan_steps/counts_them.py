import numpy as np


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    """배치를 정말로 하나씩 세어 봅니다."""
    steps = 0
    for _ in range(n_epochs):
        for i in range(n_batches):
            if (i + 1) % accum_steps == 0 or i + 1 == n_batches:
                steps += 1
    if not (warmup_ratio >= 0.001 and warmup_ratio <= 0.2):
        raise ValueError(f"{warmup_ratio=}")
    warmup = int(np.rint(steps * warmup_ratio))
    if warmup == 0:
        warmup = 1
    return (steps, warmup)
