# mistakes: sums-norms, scales-up, replaces-gradient, nan-spreads
# lines: 11, 12, 14, 15
# hidden:
import math


def clip_global_norm(params, max_norm) -> float:
    params = [p for p in params if p.grad is not None]
    total_norm = 0.0
    for p in params:
        total_norm += p.grad.norm(2).item()
    clip_coef = max_norm / (total_norm + 1e-6)
    for p in params:
        p.grad = p.grad * clip_coef
    if not math.isfinite(total_norm):
        raise RuntimeError(f"norm is {total_norm}")
    return total_norm
