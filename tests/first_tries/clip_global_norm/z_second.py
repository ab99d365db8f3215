# mistakes: exhausts-generator, one-of-two-not-finite, replaces-gradient
# lines: 15, 18, 24
# hidden:
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    def has_grad():
        for p in params:
            if p.grad is not None:
                yield p

    squares = [p.grad.double().pow(2).sum().item() for p in has_grad()]
    norm = math.sqrt(sum(squares))

    if math.isnan(norm):
        raise RuntimeError("그레이디언트의 노름이 유한하지 않습니다")

    if norm > max_norm:
        shrink = max_norm / norm
        for p in has_grad():
            p.grad = p.grad * shrink
    return norm
