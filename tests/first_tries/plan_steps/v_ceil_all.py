# mistakes: rejects-the-ends, joins-epochs, ceils-warmup, swapped-returns
# lines: 9, 14, 15, 16
# hidden:
import math


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    # 비율 검사
    if warmup_ratio <= 0.001 or not warmup_ratio < 0.2:
        raise ValueError(f"warmup_ratio가 이상합니다: {warmup_ratio}")

    # 전체 배치 수 / 누적 수
    all_batches = n_batches * n_epochs
    total = math.ceil(all_batches / accum_steps)
    warmup = max(1, math.ceil(total * warmup_ratio))
    return warmup, total
