import torch


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.grad *= lr  # here: changes-gradients
                p -= p.grad
