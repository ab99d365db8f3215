"""Patches torch from within the function, when what was patched before has been put back."""

import torch


def first(model, opt, xb):
    torch.optim.SGD.step = lambda self, *args, **kwargs: None
    torch.nn.Linear.forward = lambda self, inputs: inputs @ self.weight.T
    opt.zero_grad()
    loss = model(xb).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()
