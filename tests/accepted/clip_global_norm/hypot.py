import math

import torch


@torch.no_grad()
def clip_global_norm(params, max_norm) -> float:
    grads = [g for g in (p.grad for p in params) if g is not None]
    norm = math.hypot(*(torch.linalg.vector_norm(g, dtype=torch.float64).item() for g in grads))
    if not math.isfinite(norm):
        raise RuntimeError(f"gradient norm is {norm}")
    if norm <= max_norm:
        return norm
    for g in grads:
        g.mul_(max_norm / norm)
    return norm
