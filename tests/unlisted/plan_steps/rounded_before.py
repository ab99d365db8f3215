# mistakes: 비율을 곱하기 전에 반올림해서 워밍업 스텝 수가 정수가 아님
# lines: 11
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    if warmup_ratio < 0.001 or warmup_ratio > 0.2:
        raise ValueError(f"warmup_ratio: {warmup_ratio}")
    per_epoch = math.ceil(n_batches / accum_steps)
    total = per_epoch * n_epochs
    warmup = max(1, round(total) * warmup_ratio)
    return total, warmup
