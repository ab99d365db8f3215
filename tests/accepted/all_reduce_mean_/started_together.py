import torch


def all_reduce_mean_(params, dist):
    waiting = []
    for p in [q for q in params if q.requires_grad]:
        share = torch.zeros_like(p.detach()) if p.grad is None else p.grad.detach() / dist.get_world_size()
        waiting.append((p, share, dist.all_reduce(share, async_op=True)))
    for p, share, work in waiting:
        work.wait()
        p.grad = share
