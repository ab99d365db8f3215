import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def train_step(model, opt, loss_fn, xb, yb):
    out = model(xb)
    loss = loss_fn(out, yb)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return float(loss)
