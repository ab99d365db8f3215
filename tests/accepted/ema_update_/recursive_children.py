import torch
from torch import nn


def _walk(a: nn.Module, b: nn.Module, d: float, seen: set[int]) -> None:
    for (key, slow), fast in zip(a._parameters.items(), b._parameters.values()):
        if slow is None or id(slow) in seen:
            continue
        seen.add(id(slow))
        slow.copy_(slow * d + fast * (1 - d))
    for slow, fast in zip(a._buffers.values(), b._buffers.values()):
        if slow is not None:
            slow.copy_(fast)
    for (_, child_a), (_, child_b) in zip(a._modules.items(), b._modules.items()):
        if child_a is not None:
            _walk(child_a, child_b, d, seen)


@torch.no_grad()
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    d = decay if decay * (10 + step) <= 1 + step else (1 + step) / (10 + step)
    _walk(ema, model, d, set())
    return float(d)
