# mistakes: averages-buffers
# lines: 19
# hidden:
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    ratio = min(decay, (1 + step) / (10 + step))

    def blend(average, current):
        average.mul_(ratio).add_(current, alpha=1 - ratio)

    with torch.no_grad():
        for average, current in zip(ema.parameters(), model.parameters()):
            blend(average, current)
        for average, current in zip(ema.buffers(), model.buffers()):
            if average.is_floating_point():
                blend(average, current)
            else:
                average.copy_(current)

    return float(ratio)
