# mistakes: keeps-skipped-gradients, waits-one-more, whole-history
# lines: 29, 25, 27
# hidden:
import math
import statistics

import torch


def total_norm(opt):
    squares = 0.0
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                squares += p.grad.detach().double().pow(2).sum().item()
    return math.sqrt(squares)


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = total_norm(opt)

    def too_large():
        if not math.isfinite(norm):
            return True
        if len(history) <= window:
            return False
        return norm > factor * statistics.median(history)

    if too_large():
        return False
    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
