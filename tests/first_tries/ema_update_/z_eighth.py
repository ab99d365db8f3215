# mistakes: averages-buffers, returns-decay
# lines: 17, 21
# hidden:
import torch
import torch.nn as nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))

    for p_ema, p in zip(ema.parameters(), model.parameters()):
        p_ema.mul_(d).add_(p, alpha=1 - d)

    for b_ema, b in zip(ema.buffers(), model.buffers()):
        if b.is_floating_point():
            b_ema.mul_(d).add_(b, alpha=1 - d)
        else:
            b_ema.copy_(b)

    return decay
