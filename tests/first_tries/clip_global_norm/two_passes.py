# mistakes: sums-norms, one-of-two-not-finite, exhausts-generator, replaces-gradient
# lines: 11, 13, 18, 20
import math


def clip_global_norm(params, max_norm) -> float:
    total_norm = 0.0
    for p in params:
        if p.grad is None:
            continue
        total_norm += p.grad.norm(2).item()

    if math.isnan(total_norm):
        raise RuntimeError("gradient norm is NaN")

    clip_coef = max_norm / (total_norm + 1e-6)
    if clip_coef < 1:
        for p in params:
            if p.grad is not None:
                p.grad = p.grad * clip_coef
    return total_norm
