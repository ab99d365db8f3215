import torch
from torch.nn.utils import get_total_norm


def middle(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def guarded_step(opt, sched, history, *, factor=4.0, window=20):
    params = [p for g in opt.param_groups for p in g["params"]]
    norm = get_total_norm([p.grad for p in params if p.grad is not None])
    ok = bool(torch.isfinite(norm))
    if ok and len(history) >= window:
        ok = norm.item() <= factor * middle(history[-window:])
    if ok:
        opt.step()
        sched.step()
        history.append(float(norm))
    for p in params:
        p.grad = None
    return ok
