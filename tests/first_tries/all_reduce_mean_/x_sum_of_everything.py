# mistakes: sum-not-mean, frozen-gets-gradient
# lines: 12, 8
# hidden:
import torch


def all_reduce_mean_(params, dist) -> None:
    for param in params:
        g = param.grad
        if g is None:
            g = torch.zeros_like(param)
        dist.all_reduce(g, op=dist.ReduceOp.SUM)
        param.grad = g
