# mistakes: divides-by-holders, none-stays-none
# lines: 21, 22
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    def total(tensor):
        dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
        return tensor

    for p in params:
        if not p.requires_grad:
            continue
        has_grad = p.grad is not None
        # 그레이디언트가 없는 rank는 0을 낸다
        buffer = p.grad.clone() if has_grad else torch.zeros_like(p, requires_grad=False)
        buffer = total(buffer)
        # 몇 rank가 냈는지 세어 나눈다
        contributors = total(torch.tensor(float(has_grad), device=p.device))
        mean = buffer / contributors.clamp(min=1.0)
        if has_grad:
            p.grad.copy_(mean)
