# mistakes: first-group-only, whole-history, scheduler-goes-on
# lines: 11, 21, 25
# hidden:
import math
from statistics import median

import torch


def _grad_norm(opt):
    grads = [p.grad.detach().double() for p in opt.param_groups[0]["params"] if p.grad is not None]
    if not grads:
        return 0.0
    return torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads])).item()


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    n = _grad_norm(opt)
    ok = math.isfinite(n)
    if ok and len(history) >= window:
        ok = n <= factor * median(history)
    if ok:
        opt.step()
        history.append(n)
    sched.step()
    opt.zero_grad()
    return ok
