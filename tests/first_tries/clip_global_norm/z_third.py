# mistakes: one-of-two-not-finite, scales-up
# lines: 20, 23
# hidden:
import math

import torch


def _collect(params):
    return [p.grad for p in params if p.grad is not None]


def _l2(gradients):
    return math.sqrt(sum(g.detach().double().pow(2).sum().item() for g in gradients))


def clip_global_norm(params, max_norm) -> float:
    gradients = _collect(params)
    norm = _l2(gradients)
    if math.isnan(norm):
        raise RuntimeError(f"그레이디언트가 잘못되었습니다: {norm}")
    ratio = max_norm / max(norm, 1e-12)
    for g in gradients:
        g.mul_(ratio)
    return norm
