# mistakes: averages-buffers, float-buffers-only, sets-eval-mode, ratio-from-zero
# lines: 22, 21, 14, 15
# hidden:
import torch
from torch import nn


def all_tensors(m):
    return dict([*m.named_parameters(), *m.named_buffers()])


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    ema.eval()
    d = min(decay, step / (10 + step))
    now = all_tensors(model)
    for name, value in all_tensors(ema).items():
        new = now[name]
        if not value.is_floating_point():
            # 정수는 평균을 낼 수 없다
            continue
        value.copy_(d * value + (1 - d) * new)
    return float(d)
