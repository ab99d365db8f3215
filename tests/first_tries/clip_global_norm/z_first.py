# mistakes: exhausts-generator
# lines: 21
# hidden:
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    sq = 0.0
    for p in params:
        if p.grad is not None:
            sq += p.grad.detach().double().pow(2).sum().item()
    total = math.sqrt(sq)

    if not math.isfinite(total):
        raise RuntimeError(f"노름이 이상합니다: {total}")

    if total > max_norm:
        ratio = max_norm / total
        for p in params:
            if p.grad is not None:
                p.grad.mul_(ratio)

    return total
