# mistakes: skips-frozen, multiplies-by-zero
# lines: 8, 11
import torch


def zero_gradients(params) -> None:
    for param in params:
        if not param.requires_grad:
            continue
        if param.grad is not None:
            param.grad *= 0
