import torch


def sgd_update(params, lr) -> None:
    moving = ((p, p.grad) for p in params if p.grad is not None)
    with torch.set_grad_enabled(False):
        for target, slope in moving:
            target.copy_(torch.sub(target, slope, alpha=lr))
