import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def train_step(model, opt, loss_fn, xb, yb):
    params = list(model.parameters())
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params, retain_graph=True)
    for p, g in zip(params, grads):
        p.grad = g
    opt.step()
    return loss.item()
