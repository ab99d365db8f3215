# mistakes: 자기 노름이 작은 그레이디언트는 줄이지 않음
# lines: 15
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    total = math.sqrt(sum(g.double().pow(2).sum().item() for g in grads))
    if not math.isfinite(total):
        raise RuntimeError(f"norm is {total}")
    if total > max_norm:
        for g in grads:
            if g.norm() > max_norm:
                g.mul_(max_norm / total)
    return total
