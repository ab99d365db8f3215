# mistakes: exhausts-generator, one-of-two-not-finite
# lines: 19, 14
# hidden:
import math

import torch


@torch.no_grad()
def clip_global_norm(params, max_norm) -> float:
    norms = [p.grad.double().norm().item() for p in params if p.grad is not None]
    total = math.hypot(*norms)

    if math.isnan(total):
        raise RuntimeError("그레이디언트가 이상합니다")

    if total > max_norm:
        ratio = max_norm / total
        for p in params:
            if p.grad is not None:
                p.grad.mul_(ratio)
    return total
