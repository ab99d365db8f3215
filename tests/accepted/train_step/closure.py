import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def train_step(model, opt, loss_fn, xb, yb):
    def closure():
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss
    return opt.step(closure).item()
