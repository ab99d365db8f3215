# mistakes: warmup-counts-micro-batches
# lines: 11
# hidden:
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    check_ratio(warmup_ratio)
    steps_per_epoch = math.ceil(n_batches / accum_steps)
    전체 = steps_per_epoch * n_epochs
    워밍업 = max(1, round(n_batches * n_epochs * warmup_ratio))
    return 전체, 워밍업


def check_ratio(ratio):
    if 0.001 <= ratio <= 0.2:
        return
    raise ValueError(f"warmup_ratio가 범위를 벗어났습니다: {ratio}")
