# mistakes: uses-params-up, frozen-gets-gradient
# lines: 22, 19
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    world = dist.get_world_size()

    def fill_missing(p):
        # 그레이디언트가 없으면 0을 낸다
        if p.grad is None:
            p.grad = torch.zeros_like(p)

    def reduce_one(p):
        dist.all_reduce(p.grad)
        p.grad /= world

    for p in params:
        fill_missing(p)

    for p in params:
        reduce_one(p)
