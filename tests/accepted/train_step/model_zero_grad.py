import torch
from torch import nn


def train_step(model: nn.Module, opt, loss_fn, xb, yb) -> float:
    model.zero_grad()
    loss = loss_fn(model.forward(xb), yb)
    loss.backward()
    opt.step()
    return float(loss.detach())
