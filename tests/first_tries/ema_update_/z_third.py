# mistakes: swapped-shares, averages-buffers
# lines: 20, 19
# hidden:
from itertools import chain

import torch
from torch import nn


def _tensors(module):
    return chain(module.parameters(), module.buffers())


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))

    def blend(average, current):
        if average.is_floating_point():
            average.lerp_(current, d)
        else:
            # 정수는 평균을 낼 수 없으니 복사
            average.copy_(current)

    for average, current in zip(_tensors(ema), _tensors(model)):
        blend(average, current)
    return float(d)
