# mistakes: sums-norms, one-of-two-not-finite, replaces-gradient
# lines: 11, 12, 17
# hidden:
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    with_grad = [p for p in params if p.grad is not None]
    total = sum(p.grad.norm(2).item() for p in with_grad)
    if math.isnan(total):
        raise RuntimeError("그레이디언트의 노름이 이상합니다")
    if total > max_norm:
        scale = max_norm / total
        for p in with_grad:
            p.grad = p.grad * scale
    return float(total)
