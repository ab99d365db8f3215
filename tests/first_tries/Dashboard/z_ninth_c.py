# mistakes: counts-no-grad, unbiased-std, skips-frozen
# lines: 23, 28, 35
# hidden:
import math

import torch
from torch import nn


def _norm(tensors):
    return math.sqrt(sum(t.detach().double().pow(2).sum().item() for t in tensors))


class _Gauge:
    """계층 하나의 계기"""

    def __init__(self, module):
        self.module = module
        self.stats = {}
        self.handle = module.register_forward_hook(self.on_forward)

    def on_forward(self, module, inputs, output):
        if not module.training:
            return
        values = output.detach().double()
        units = values.reshape(-1, values.shape[-1]) if values.dim() > 0 else values.reshape(1, 1)
        self.stats = {
            "output_std": values.std().item(),
            "dead": (units == 0).all(dim=0).double().mean().item(),
        }

    def read(self, lr):
        own = [p for p in self.module.parameters(recurse=False) if p.grad is not None]
        grad_norm = _norm([p.grad for p in own])
        weight_norm = _norm(own)
        ratio = lr * grad_norm / weight_norm if weight_norm > 0 else 0.0
        return {"grad_norm": grad_norm, "update_ratio": ratio, **self.stats}


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {}
        for name, module in model.named_modules():
            is_leaf = next(module.children(), None) is None
            has_own = next(module.parameters(recurse=False), None) is not None
            if is_leaf or has_own:
                self.gauges[name] = _Gauge(module)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: gauge.read(lr) for name, gauge in self.gauges.items()}

    def close(self) -> None:
        for gauge in self.gauges.values():
            gauge.handle.remove()
