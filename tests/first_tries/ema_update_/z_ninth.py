# mistakes: swapped-shares, switches-at-a-step, shares-buffers
# lines: 21, 12, 25
# hidden:
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    WARMUP = 10

    def ratio():
        if step < WARMUP:
            return (1 + step) / (10 + step)
        return decay

    d = ratio()

    @torch.no_grad()
    def move_parameters():
        for avg, now in zip(ema.parameters(), model.parameters()):
            avg.lerp_(now, d)

    def copy_buffers():
        for avg, now in zip(ema.buffers(), model.buffers()):
            avg.data = now.data

    move_parameters()
    copy_buffers()
    return float(d)
