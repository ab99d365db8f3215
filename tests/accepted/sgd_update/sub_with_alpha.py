import torch


@torch.no_grad()
def sgd_update(params, lr):
    for p in params:
        if p.grad is None:
            continue
        p.sub_(p.grad, alpha=lr)
