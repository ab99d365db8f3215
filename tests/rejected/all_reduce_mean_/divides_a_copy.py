# expect: reduces-a-temporary
import torch
import torch.distributed


def all_reduce_mean_(params, dist) -> None:
    n = dist.get_world_size()
    for p in params:
        if not p.requires_grad:
            continue
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad / n)
