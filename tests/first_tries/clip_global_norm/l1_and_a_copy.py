# mistakes: clips-a-copy, l1-norm
# lines: 18, 11
import math


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]

    norm = 0.0
    for g in grads:
        norm += g.abs().sum().item()
    if not math.isfinite(norm):
        raise RuntimeError(f"norm = {norm}")

    if norm > max_norm:
        ratio = max_norm / norm
        for g in grads:
            g = g * ratio
    return norm
