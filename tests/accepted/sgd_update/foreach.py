import torch


def sgd_update(params, lr):
    with_grad = [p for p in params if p.grad is not None]
    with torch.no_grad():
        torch._foreach_add_(with_grad, [p.grad for p in with_grad], alpha=-lr)
