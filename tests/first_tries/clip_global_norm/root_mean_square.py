# mistakes: mean-of-squares
# lines: 9
import torch


def clip_global_norm(params, max_norm):
    grads = [p.grad for p in params if p.grad is not None]
    everything = torch.cat([g.reshape(-1) for g in grads])
    norm = everything.square().mean().sqrt()
    if not norm.isfinite():
        raise RuntimeError("norm is inf or nan")
    if norm > max_norm:
        for g in grads:
            g.mul_(max_norm / norm)
    return norm.item()
