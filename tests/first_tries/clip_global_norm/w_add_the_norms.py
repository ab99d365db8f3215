# mistakes: sums-norms, nan-spreads, scales-up, replaces-gradient
# lines: 13, 16, 16, 18
# hidden:
import torch


def clip_global_norm(params, max_norm) -> float:
    params = [p for p in params if p.grad is not None]

    # 전체 노름
    norm = 0.0
    for p in params:
        norm += p.grad.norm(2).item()

    # 줄이는 비율
    scale = max_norm / (norm + 1e-6)
    for p in params:
        p.grad = p.grad * scale
    return norm
