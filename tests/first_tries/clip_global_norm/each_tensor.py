# mistakes: nan-spreads, per-parameter-norm, norm-after-clip
# lines: 12, 14, 19
import torch


def clip_global_norm(params, max_norm) -> float:
    grads = []
    for p in params:
        if p.grad is not None:
            grads.append(p.grad)

    for g in grads:
        norm = g.norm(2)
        if norm > max_norm:
            g.mul_(max_norm / norm)

    total = 0.0
    for g in grads:
        total += g.norm(2).item() ** 2
    return total ** 0.5
