import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        total = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
        factor = max_norm / total
        if factor < 1:
            for p in model.parameters():
                p.grad.mul_(factor)
    opt.step()
    opt.zero_grad()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
