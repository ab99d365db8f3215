# mistakes: curved-decay
# lines: 26
# hidden:
import math


def _check(step, max_lr, min_lr, lengths):
    if step < 0 or any(n < 0 for n in lengths):
        raise ValueError("negative step or length")
    if not any(lengths):
        raise ValueError("all three lengths are 0")
    if not 0 <= min_lr <= max_lr:
        raise ValueError("0 <= min_lr <= max_lr is needed")


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    _check(step, max_lr, min_lr, (warmup_steps, stable_steps, decay_steps))
    height = max_lr - min_lr
    if step < warmup_steps:
        return float(min_lr + height * (step / warmup_steps))
    k = step - warmup_steps - stable_steps
    if k < 0:
        return float(max_lr)
    if k >= decay_steps - 1:
        return float(min_lr)
    return float(min_lr + height * (1 - math.sqrt(k / (decay_steps - 1))))
