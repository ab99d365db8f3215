# mistakes: frozen-gets-gradient, sum-not-mean
# lines: 9, 13
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    world = dist.get_world_size()
    for p in params:
        if p.grad is None:
            # 이 rank의 몫은 0
            buffer = torch.zeros_like(p)
            dist.all_reduce(buffer)
            p.grad = buffer.detach()
        else:
            buffer = p.grad.detach().clone()
            dist.all_reduce(buffer)
            buffer /= world
            p.grad.copy_(buffer)
