import torch


def all_reduce_mean_(params, dist):
    size = dist.get_world_size()
    for p in params:
        if not p.requires_grad:
            continue
        own = torch.zeros_like(p) if p.grad is None else p.grad
        every = [torch.empty_like(own) for _ in range(size)]
        dist.all_to_all(every, [own] * size)
        p.grad = torch.stack(every).mean(dim=0)
