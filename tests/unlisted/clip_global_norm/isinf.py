# mistakes: 무한대만 막고 NaN인 노름은 지나감
# lines: 13
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    if not grads:
        return 0.0
    norm = torch.stack([g.norm() for g in grads]).norm().item()
    if math.isinf(norm):
        raise RuntimeError(f"gradient norm is {norm}")
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm
