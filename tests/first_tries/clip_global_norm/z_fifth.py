# mistakes: exhausts-generator, sums-norms, one-of-two-not-finite
# lines: 9, 14, 15
# hidden:
import math


def clip_global_norm(params, max_norm) -> float:
    def gradients():
        return [p.grad for p in params if p.grad is not None]

    def length(g):
        return g.norm().item()

    whole = sum(map(length, gradients()), 0.0)
    if math.isnan(whole):
        raise RuntimeError("그레이디언트의 노름이 이상합니다")
    if whole <= max_norm:
        return whole

    factor = max_norm / whole
    for g in gradients():
        g.mul_(factor)
    return whole
