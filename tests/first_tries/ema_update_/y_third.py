# mistakes: returns-decay, skips-frozen, shares-buffers
# lines: 21, 16, 20
# hidden:
import torch
from torch import nn


def _rate(decay, step):
    return min(decay, (1 + step) / (10 + step))


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = _rate(decay, step)
    with torch.no_grad():
        for e, m in zip(ema.parameters(), model.parameters()):
            if not m.requires_grad:
                continue
            e.copy_(d * e + (1 - d) * m)
        for e, m in zip(ema.buffers(), model.buffers()):
            e.data = m.data
    return float(decay)
