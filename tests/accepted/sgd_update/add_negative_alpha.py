import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.add_(p.grad, alpha=-lr)
