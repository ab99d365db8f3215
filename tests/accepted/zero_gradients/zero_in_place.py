import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def zero_gradients(params):
    for p in params:
        if p.grad is not None:
            p.grad.zero_()
