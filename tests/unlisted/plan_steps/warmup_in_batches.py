# mistakes: 워밍업을 업데이트가 아니라 마이크로 배치 수로 셈
# lines: 11
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError(f"warmup_ratio {warmup_ratio}")
    per_epoch = math.ceil(n_batches / accum_steps)
    total = per_epoch * n_epochs
    warmup = max(1, round(n_batches * n_epochs * warmup_ratio))
    return total, warmup
