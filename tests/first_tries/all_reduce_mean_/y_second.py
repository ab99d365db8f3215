# mistakes: frozen-gets-gradient, uses-params-up
# lines: 15, 12
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    world = dist.get_world_size()

    # grad가 없는 rank도 통신에는 끼어야 하니까 먼저 0으로 채워 둔다
    for p in params:
        if p.grad is None:
            p.grad = torch.zeros_like(p)

    for p in params:
        dist.all_reduce(p.grad)
        p.grad.div_(world)
