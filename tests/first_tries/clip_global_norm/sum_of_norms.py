# mistakes: sums-norms, norm-after-clip, other-exception, replaces-gradient
# lines: 12, 22, 17, 21
import math


def clip_global_norm(params, max_norm):
    with_grad = [p for p in params if p.grad is not None]

    def total_norm():
        total = 0.0
        for p in with_grad:
            total += p.grad.norm().item()
        return total

    norm = total_norm()
    if math.isnan(norm) or math.isinf(norm):
        raise ValueError(f"노름이 유한하지 않습니다: {norm}")

    if norm > max_norm:
        for p in with_grad:
            p.grad = p.grad * (max_norm / norm)
    return total_norm()
