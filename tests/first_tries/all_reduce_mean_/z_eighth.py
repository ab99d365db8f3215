# mistakes: divides-by-holders
# lines: 17
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    for p in params:
        if not p.requires_grad:
            continue
        has_grad = torch.ones(1, device=p.device)
        if p.grad is None:
            p.grad = torch.zeros_like(p)
            has_grad.zero_()
        dist.all_reduce(p.grad)
        dist.all_reduce(has_grad)
        n = max(has_grad.item(), 1.0)
        p.grad.div_(n)
