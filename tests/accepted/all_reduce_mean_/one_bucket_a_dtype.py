import torch


def all_reduce_mean_(params, dist):
    buckets = {}
    for p in params:
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            buckets.setdefault(p.grad.dtype, []).append(p)
    for members in buckets.values():
        flat = torch.cat([p.grad.flatten() for p in members])
        dist.all_reduce(flat, op=dist.ReduceOp.SUM)
        flat.div_(dist.get_world_size())
        start = 0
        for p in members:
            p.grad.copy_(flat[start : start + p.numel()].view_as(p))
            start += p.numel()
