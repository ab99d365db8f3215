"""Has a function of its own in the graph write into the model during the backward pass."""

import torch


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, weight):
        ctx.save_for_backward(weight)
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        weight.data.sub_(1)
        return gradient, None


def first(model, opt, xb):
    Own.apply(model(xb).pow(2).mean(), model.weight).backward()
    return 0.0
