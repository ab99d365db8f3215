import torch


def zero_gradients(params):
    for p in params:
        p.grad = torch.zeros_like(p.grad) if p.grad is not None else None
