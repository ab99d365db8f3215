# mistakes: fills-none-gradients
# lines: 13
# hidden:
import math

import torch


def clip_global_norm(params, max_norm) -> float:
    params = list(params)
    for p in params:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    norm = math.sqrt(sum(p.grad.double().square().sum().item() for p in params))
    if not math.isfinite(norm):
        raise RuntimeError("norm is not finite")
    if norm > max_norm:
        for p in params:
            p.grad.mul_(max_norm / norm)
    return norm
