# mistakes: fills-none
# lines: 9
# hidden:
import torch


def zero_gradients(params) -> None:
    for p in params:
        p.grad = torch.zeros_like(p)
