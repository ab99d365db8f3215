# expect: 
import torch


def sgd_update(params, lr):
    for p in params:
        p.requires_grad_(False)
        if p.grad is not None:
            p -= lr * p.grad
        p.requires_grad_(True)
