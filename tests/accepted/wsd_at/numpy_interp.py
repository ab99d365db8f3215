import numpy as np


def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps):
    total = warmup_steps + stable_steps + decay_steps
    if step < 0 or warmup_steps < 0 or stable_steps < 0 or decay_steps < 0 or total == 0:
        raise ValueError("steps")
    if min_lr < 0 or max_lr < min_lr:
        raise ValueError("rates")
    if step >= total or (decay_steps and step == total - 1):
        return float(min_lr)
    corners, heights = [warmup_steps, warmup_steps + stable_steps], [max_lr, max_lr]
    if warmup_steps:
        corners, heights = [0, *corners], [min_lr, *heights]
    if decay_steps > 1:
        corners, heights = [*corners, total - 1], [*heights, min_lr]
    return float(np.interp(step, corners, heights))
