# mistakes: nan-while-short, whole-history, keeps-skipped-gradients
# lines: 21, 28, 30
# hidden:
import math
import statistics

import torch


def _global_norm(opt):
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    if not grads:
        return 0.0
    return torch.linalg.vector_norm(torch.cat([g.detach().flatten() for g in grads])).item()


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    norm = _global_norm(opt)

    # 아직 기준이 없으면 그냥 업데이트
    if len(history) < window:
        opt.step()
        sched.step()
        history.append(norm)
        opt.zero_grad()
        return True

    limit = factor * statistics.median(history)
    if not math.isfinite(norm) or norm > limit:
        return False

    opt.step()
    sched.step()
    history.append(norm)
    opt.zero_grad()
    return True
