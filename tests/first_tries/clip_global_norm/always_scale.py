# mistakes: scales-up, returns-tensor
# lines: 11, 14
import torch


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    norm = torch.sqrt(sum((g * g).sum() for g in grads))
    if not torch.isfinite(norm):
        raise RuntimeError("gradient norm is not finite")
    scale = max_norm / (norm + 1e-12)
    for g in grads:
        g.mul_(scale)
    return norm
