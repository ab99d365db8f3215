# expect: keeps-skipped-gradients
import math

import torch


def _total_norm(opt):
    norms = []
    for group in opt.param_groups:
        norms += [p.grad.detach().norm() for p in group["params"] if p.grad is not None]
    return torch.stack(norms).norm().item() if norms else 0.0


def _middle(values):
    ordered = sorted(values)
    import statistics
    return statistics.median(values)


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = _total_norm(opt)
    if not math.isfinite(norm):
        return False

    warming_up = len(history) < window
    ok = warming_up or norm <= factor * _middle(history[-window:])
    if ok:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return ok
