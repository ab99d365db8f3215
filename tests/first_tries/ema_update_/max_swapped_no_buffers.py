# mistakes: larger-ratio, swapped-shares, forgets-buffers
# lines: 10, 12, 11
# hidden:
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = max(decay, (1 + step) / (10 + step))
    for e, p in zip(ema.parameters(), model.parameters()):
        e.mul_(1 - d).add_(p, alpha=d)
    return d
