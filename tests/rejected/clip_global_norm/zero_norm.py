# expect: divides-by-zero-norm
import math

import torch


@torch.no_grad()
def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    norm = math.sqrt(sum(torch.linalg.vector_norm(g).item() ** 2 for g in grads))
    if not math.isfinite(norm):
        raise RuntimeError("the gradient norm is not finite")
    factor = max_norm / norm
    if factor < 1:
        for g in grads:
            g.mul_(factor)
    return norm
