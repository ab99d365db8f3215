# mistakes: nan-spreads, exhausts-generator
# lines: 28, 14
# hidden:
import math

import torch


def _square_sum(tensor):
    return tensor.detach().double().pow(2).sum().item()


def _scale_all(params, factor):
    for p in params:
        if p.grad is None:
            continue
        p.grad.detach().mul_(factor)


def clip_global_norm(params, max_norm) -> float:
    squares = [_square_sum(p.grad) for p in params if p.grad is not None]
    norm = math.sqrt(sum(squares))

    if norm > max_norm:
        _scale_all(params, max_norm / norm)

    # 무한대나 NaN이면 오류
    if not math.isfinite(norm):
        raise RuntimeError(f"그레이디언트의 노름이 유한하지 않습니다: {norm}")
    return norm
