# mistakes: stops-at-none, leaves-requires-grad-off, changes-gradients
# lines: 9, 10, 12
import torch


def sgd_update(params, lr):
    for p in params:
        if p.grad is None:
            break
        p.requires_grad_(False)  # in-place 에러를 피하려고
        p -= lr * p.grad
        p.grad.zero_()
