# expect: lower-median
import math

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    grads = [p.grad for g in opt.param_groups for p in g["params"] if p.grad is not None]
    norm = float(torch.nn.utils.get_total_norm(grads))
    recent = torch.tensor(history[-window:], dtype=torch.float64)
    if not math.isfinite(norm):
        normal = False
    elif len(history) < window:
        normal = True
    else:
        normal = norm <= factor * recent.median().item()
    if normal:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return normal
