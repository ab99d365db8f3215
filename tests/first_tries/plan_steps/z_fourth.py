# mistakes: rejects-the-ends, joins-epochs, truncates-warmup
# lines: 12, 17, 18
# hidden:
import math


def _올림_나눗셈(a, b):
    return -(-a // b)


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    비율이_괜찮음 = 0.001 < warmup_ratio < 0.2
    if not 비율이_괜찮음:
        raise ValueError("warmup_ratio는 0.001에서 0.2 사이여야 합니다")

    전체_배치 = n_batches * n_epochs
    전체_스텝 = _올림_나눗셈(전체_배치, accum_steps)
    워밍업 = int(전체_스텝 * warmup_ratio)
    return 전체_스텝, max(워밍업, 1)
