"""Puts something else in the place of a function of torch each time that it is restored."""

import torch


class Again:
    def __del__(self):
        torch.optim.SGD.zero_grad = Again()


torch.optim.SGD.zero_grad = Again()


def first(model, opt, xb):
    loss = model(xb).pow(2).mean()
    loss.backward()
    return loss.item()
