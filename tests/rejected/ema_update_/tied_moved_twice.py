# expect: twice-for-tied
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))
    for m_ema, m in zip(ema.modules(), model.modules()):
        for e, p in zip(m_ema.parameters(recurse=False), m.parameters(recurse=False)):
            e.copy_(d * e + (1 - d) * p)
        for e, b in zip(m_ema.buffers(recurse=False), m.buffers(recurse=False)):
            e.copy_(b)
    return d
