import torch


def sgd_update(params, lr):
    with torch.no_grad():
        for p in filter(lambda q: q.grad is not None, params):
            p.add_(p.grad, alpha=-lr)
