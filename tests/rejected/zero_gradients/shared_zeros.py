# expect: 
import torch


def zero_gradients(params) -> None:
    zeros = {}
    for p in params:
        if p.grad is None:
            continue
        key = (p.shape, p.grad.dtype, p.grad.device)
        if key not in zeros:
            zeros[key] = torch.zeros_like(p.grad)
        p.grad = zeros[key]
