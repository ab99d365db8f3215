# expect: persistent-buffers-only
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))
    names = {n for n, _ in ema.named_parameters(remove_duplicate=False)}
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(d).add_(p, alpha=1 - d)
    source = model.state_dict()
    for name, tensor in ema.state_dict().items():
        if name not in names:
            tensor.copy_(source[name])
    return d
