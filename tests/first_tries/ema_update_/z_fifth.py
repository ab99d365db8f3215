# mistakes: scales-the-model, averages-buffers, persistent-buffers-only
# lines: 13, 22, 18
# hidden:
import torch
from torch import nn


def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = min(decay, (1 + step) / (10 + step))

    def blend_parameters():
        for average, current in zip(ema.parameters(), model.parameters()):
            average.mul_(d).add_(current.mul_(1 - d))

    def blend_the_rest():
        parameter_names = {name for name, _ in ema.named_parameters(remove_duplicate=False)}
        now = model.state_dict()
        for name, old in ema.state_dict().items():
            if name in parameter_names:
                continue
            if old.is_floating_point():
                old.mul_(d).add_(now[name], alpha=1 - d)
            else:
                old.copy_(now[name])  # 정수는 평균을 낼 수 없다

    with torch.no_grad():
        blend_parameters()
        blend_the_rest()
    return d
