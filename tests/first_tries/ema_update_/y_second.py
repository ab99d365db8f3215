# mistakes: swapped-shares, float-buffers-only
# lines: 13, 17
# hidden:
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))

    for avg, now in zip(ema.parameters(), model.parameters()):
        avg.mul_(1 - d).add_(now, alpha=d)

    # 배치 정규화의 통계량 같은 것
    for avg, now in zip(ema.buffers(), model.buffers()):
        if avg.is_floating_point():
            avg.copy_(now)

    return float(d)
