# mistakes: new-storage, shares-buffers, returns-decay
# lines: 13, 16, 18
# hidden:
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    # 처음에는 작은 비율을 쓴다
    d = min(decay, (1 + step) / (10 + step))

    for p_ema, p in zip(ema.parameters(), model.parameters()):
        p_ema.data = d * p_ema.data + (1 - d) * p.data

    for b_ema, b in zip(ema.buffers(), model.buffers()):
        b_ema.data = b.data

    return decay
