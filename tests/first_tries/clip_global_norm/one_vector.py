# mistakes: touches-none, scales-up, nan-spreads, returns-tensor
# lines: 7, 9, 12, 14
import torch


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params]
    norm = torch.cat([g.flatten() for g in grads]).norm()
    scale = max_norm / norm
    for g in grads:
        g.mul_(scale)
    if not torch.isfinite(norm):
        raise RuntimeError("gradient norm is not finite")
    return norm
