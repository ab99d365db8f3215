# mistakes: per-parameter-norm, one-of-two-not-finite, norm-after-clip
# lines: 27, 21, 31

import math
import torch


def global_norm(params):
    s = 0.0
    for p in params:
        if p.grad is None:
            continue
        s += p.grad.norm(2).item() ** 2
    return s ** 0.5


@torch.no_grad()
def clip_global_norm(params, max_norm):
    params = list(params)
    norm = global_norm(params)
    if math.isnan(norm):
        raise RuntimeError("gradient norm is nan")

    for p in params:
        if p.grad is None:
            continue
        n = p.grad.norm(2).item()
        if n > max_norm:
            p.grad.mul_(max_norm / n)

    return global_norm(params)
