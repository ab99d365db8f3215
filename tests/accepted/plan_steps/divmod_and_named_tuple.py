from typing import NamedTuple


class Plan(NamedTuple):
    total: int
    warmup: int


def plan_steps(n_batches: int, n_epochs: int, *, warmup_ratio: float, accum_steps: int = 1) -> Plan:
    full, rest = divmod(n_batches, accum_steps)
    total = n_epochs * (full + bool(rest))
    if 0.001 <= warmup_ratio <= 0.2:
        return Plan(total, max(1, round(total * warmup_ratio)))
    raise ValueError(warmup_ratio)
