# mistakes: exhausts-generator, replaces-gradient, nan-spreads
# lines: 19, 21, 23
# note: with a generator as params mistake 1 hides 2 and 3; with a list both show and 1 does not

import torch


def clip_global_norm(params, max_norm):
    # 전체 gradient의 L2 norm
    sq = 0.0
    for p in params:
        if p.grad is not None:
            sq += float(p.grad.detach().pow(2).sum())
    norm = sq ** 0.5

    clip_coef = max_norm / (norm + 1e-6)
    if clip_coef > 1:
        clip_coef = 1.0
    for p in params:
        if p.grad is not None:
            p.grad = p.grad * clip_coef

    if not torch.isfinite(torch.tensor(norm)):
        raise RuntimeError(f"non-finite gradient norm: {norm}")
    return norm
