# mistakes: nan-spreads, scales-up
# lines: 10, 11
# hidden:
import math


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    norm = math.sqrt(sum(g.norm().item() ** 2 for g in grads))
    scale = max_norm / norm
    for g in grads:
        g.mul_(scale)
    return norm
