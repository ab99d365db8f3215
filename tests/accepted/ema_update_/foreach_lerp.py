import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = float(min(decay, (1 + step) / (10 + step)))
    slow, fast = list(ema.parameters()), list(model.parameters())
    kept, now = list(ema.buffers()), list(model.buffers())
    with torch.no_grad():
        if slow:
            torch._foreach_mul_(slow, d)
            torch._foreach_add_(slow, fast, alpha=1 - d)
        for a, b in zip(kept, now, strict=True):
            a.copy_(b)
    return d
