# mistakes: first-group-only, whole-history, scheduler-goes-on, tensor-in-history
# lines: 11, 19, 24, 15
# hidden:
import math
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    params = [p for p in opt.param_groups[0]["params"] if p.grad is not None]
    total = torch.zeros(())
    for p in params:
        total = total + p.grad.pow(2).sum()
    norm = total.sqrt()

    normal = math.isfinite(norm)
    if normal and len(history) >= window:
        normal = bool(norm <= factor * statistics.median(history))

    if normal:
        opt.step()
        history.append(norm)
    sched.step()
    opt.zero_grad()
    return normal
