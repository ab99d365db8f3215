import math

import torch


def clip_global_norm(params, max_norm):
    grads = []
    for p in params:
        if p.grad is None:
            continue
        grads.append(p.grad)
    norms = torch._foreach_norm(grads)
    norm = math.hypot(*[n.item() for n in norms])
    if math.isnan(norm) or math.isinf(norm):
        raise RuntimeError
    if norm >= max_norm:
        torch._foreach_mul_(grads, max_norm / norm)
    return norm
