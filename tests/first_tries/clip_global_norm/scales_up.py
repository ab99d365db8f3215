# mistakes: scales-up, returns-tensor, nan-spreads
# lines: 10, 13, 10

import torch


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    total_norm = torch.sqrt(sum(((g.detach() ** 2).sum() for g in grads), torch.zeros(())))
    coef = max_norm / (total_norm + 1e-6)
    for g in grads:
        g.mul_(coef)
    return total_norm
