# mistakes: keeps-skipped-gradients
# lines: 24
# hidden:
import math
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    squares = 0.0
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                squares += p.grad.double().pow(2).sum().item()
    norm = math.sqrt(squares)

    if not math.isfinite(norm):
        opt.zero_grad()
        return False

    if len(history) >= window:
        limit = factor * statistics.median(history[-window:])
        if norm > limit:
            return False

    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
