# expect: clips-while-measuring
import math
import statistics

import torch


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    params = [p for group in opt.param_groups for p in group["params"]]
    norm = torch.nn.utils.clip_grad_norm_(params, 1.0).item()
    if not math.isfinite(norm):
        opt.zero_grad()
        return False
    if len(history) >= window and norm > factor * statistics.median(history[-window:]):
        opt.zero_grad()
        return False
    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
