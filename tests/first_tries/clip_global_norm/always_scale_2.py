# mistakes: scales-up, nan-spreads, norm-after-clip
# lines: 16, 17, 19
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    sq = 0.0
    for g in grads:
        sq += g.pow(2).sum().item()
    norm = math.sqrt(sq)
    coef = max_norm / (norm + 1e-6)
    for g in grads:
        g.mul_(coef)
    if not math.isfinite(norm):
        raise RuntimeError("norm이 유한하지 않습니다")
    return norm * coef
