# expect: skips-at-the-limit
import math
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    grads = [p.grad for g in opt.param_groups for p in g["params"] if p.grad is not None]
    norm = float(torch.nn.utils.get_total_norm(grads))
    normal = math.isfinite(norm)
    if normal and len(history) >= window:
        normal = norm < factor * statistics.median(history[-window:])
    if normal:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return normal
