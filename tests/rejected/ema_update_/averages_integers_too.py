# expect: averages-buffers
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))
    with torch.no_grad():
        for mean, now in zip(ema.parameters(), model.parameters()):
            mean.mul_(d).add_(now, alpha=1 - d)
        for mean, now in zip(ema.buffers(), model.buffers()):
            mean.mul_(d).add_(now, alpha=1 - d)
    return d
