# expect: averages-buffers
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))
    state = model.state_dict()
    for name, mean in ema.state_dict().items():
        mean.lerp_(state[name], 1 - d)
    return d
