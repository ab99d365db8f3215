# mistakes: divides-by-holders
# lines: 20
# hidden:
import torch


def _take(p):
    """(이 rank의 몫, grad가 있었는지)"""
    if p.grad is None:
        return torch.zeros_like(p), 0.0
    return p.grad.detach(), 1.0


def all_reduce_mean_(params, dist) -> None:
    for p in filter(lambda q: q.requires_grad, params):
        g, has = _take(p)
        count = torch.tensor([has], device=g.device)
        dist.all_reduce(g)
        dist.all_reduce(count)
        p.grad = g.div_(max(count.item(), 1.0))
