# mistakes: stops-at-none, climbs, changes-gradients
# lines: 10, 12, 13
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        if p.grad is None:
            break
        step = lr * p.grad
        p += step
        p.grad = None
