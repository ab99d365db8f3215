# mistakes: counts-from-one, skips-frozen, float-buffers-only
# lines: 11, 17, 22
# hidden:
import torch
from torch import nn


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    step = step + 1
    d = min(decay, (1 + step) / (10 + step))

    now = dict(model.named_parameters())
    for name, avg in ema.named_parameters():
        p = now[name]
        if not p.requires_grad:  # 학습하지 않는 것은 평균 낼 것이 없다
            continue
        avg.mul_(d).add_(p, alpha=1 - d)

    for dst, src in zip(ema.buffers(), model.buffers()):
        if torch.is_floating_point(src):
            dst.copy_(src)
    return float(d)
