# expect: counts-from-one
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    t = step + 1
    d = min(decay, (1 + t) / (10 + t))
    for e, p in zip(ema.parameters(), model.parameters()):
        e.lerp_(p, 1 - d)
    for e, b in zip(ema.buffers(), model.buffers()):
        e.copy_(b)
    return d
