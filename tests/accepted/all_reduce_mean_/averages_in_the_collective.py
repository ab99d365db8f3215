import torch


def all_reduce_mean_(params, dist) -> None:
    for p in params:
        if p.requires_grad:
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)
            p.grad = grad
