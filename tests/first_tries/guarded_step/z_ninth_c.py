# mistakes: whole-history, keeps-skipped-gradients
# lines: 30, 34
# hidden:
import math
import statistics

import torch


def _grad_norm(opt):
    flat = [
        p.grad.detach().flatten()
        for group in opt.param_groups
        for p in group["params"]
        if p.grad is not None
    ]
    if not flat:
        return 0.0
    return torch.cat(flat).norm().item()


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = _grad_norm(opt)

    def is_usual():
        if not math.isfinite(norm):
            return False
        if len(history) < window:
            return True
        return norm <= factor * statistics.median(history)

    if not is_usual():
        # 이 배치는 버린다
        return False

    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
