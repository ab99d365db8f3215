# mistakes: touches-none, replaces-tensor
# lines: 9, 10
import torch


def sgd_update(params, lr) -> None:
    with torch.no_grad():
        for param in params:
            step = lr * param.grad
            param = param - step
