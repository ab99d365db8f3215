from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Warmup:
    decay: float

    def at(self, step: int) -> float:
        return float(np.minimum(np.float64(self.decay), np.float64(1 + step) / np.float64(10 + step)))


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    rate = Warmup(decay).at(step)
    targets = dict(model.named_parameters())
    for name, own in ema.named_parameters():
        # detach는 같은 저장소를 보므로 제자리 연산이 매개변수에 그대로 닿는다
        here, there = own.detach(), targets[name].detach()
        torch.add(here.mul(rate), there, alpha=1 - rate, out=here)
    current = dict(model.named_buffers())
    {name: buf.detach().copy_(current[name].detach()) for name, buf in ema.named_buffers()}
    return rate
