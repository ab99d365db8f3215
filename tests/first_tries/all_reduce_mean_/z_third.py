# mistakes: none-stays-none
# lines: 12
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    world_size = dist.get_world_size()

    def gradient_or_zero(p):
        if p.grad is None:
            return torch.zeros_like(p)
        return p.grad

    for p in params:
        if not p.requires_grad:
            continue
        buffer = gradient_or_zero(p)
        dist.all_reduce(buffer)
        buffer.div_(world_size)
