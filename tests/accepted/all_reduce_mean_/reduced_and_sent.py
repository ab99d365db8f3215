import torch


def all_reduce_mean_(params, dist):
    rank, world = dist.get_rank(), dist.get_world_size()
    for p in params:
        if p.requires_grad is False:
            continue
        grad = torch.zeros_like(p, requires_grad=False) if p.grad is None else p.grad.clone()
        dist.reduce(grad, dst=0)
        if rank == 0:
            grad *= 1 / world
        dist.broadcast(grad, src=0)
        p.grad = grad
