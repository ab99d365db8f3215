# mistakes: skips-none, frozen-gets-gradient
# lines: 12, 10
# hidden:
import torch


@torch.no_grad()
def all_reduce_mean_(params, dist) -> None:
    world = dist.get_world_size()
    for p in params:
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        p.grad.div_(world)
