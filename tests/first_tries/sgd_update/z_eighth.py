# mistakes: stops-at-none
# lines: 11
# hidden:
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        if p.grad is None:
            return
        p -= lr * p.grad
