# mistakes: switches-at-a-step, averages-buffers
# lines: 16, 33
# hidden:
import torch
from torch import nn


class _RampedDecay:
    """처음 몇 스텝 동안 비율을 천천히 키운다."""

    def __init__(self, decay):
        self.decay = decay

    def at(self, step):
        ramp = (1 + step) / (10 + step)
        if step < 10:
            return ramp
        return self.decay


def _blend(average, current, d):
    average.mul_(d).add_(current, alpha=1 - d)


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = _RampedDecay(decay).at(step)

    for average, current in zip(ema.parameters(), model.parameters()):
        _blend(average, current, d)

    for average, current in zip(ema.buffers(), model.buffers()):
        if average.is_floating_point():
            _blend(average, current, d)
        else:
            average.copy_(current)
    return float(d)
