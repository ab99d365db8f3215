from typing import NamedTuple


class Plan(NamedTuple):
    total: int
    warmup: int


def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    if not (0.001 <= warmup_ratio <= 0.2):
        raise ValueError(f"warmup_ratio must lie in [0.001, 0.2]: {warmup_ratio}")
    window_starts = range(0, n_batches, accum_steps)
    total = sum(len(window_starts) for _ in range(n_epochs))
    return Plan(total, round(total * warmup_ratio) or 1)
