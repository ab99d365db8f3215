# mistakes: nan-spreads, scales-up, returns-tensor
# lines: 8, 9, 12
import torch


def clip_global_norm(params, max_norm) -> float:
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.sqrt(sum((g ** 2).sum() for g in grads))
    scale = max_norm / (total + 1e-6)
    for g in grads:
        g.mul_(scale)
    return total
