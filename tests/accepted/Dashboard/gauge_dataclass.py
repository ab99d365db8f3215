import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Gauge:
    layer: nn.Module
    std: float | None = None
    dead: float | None = None
    handle: object = None

    def __call__(self, module, _inputs, output):
        if module.training and torch.is_grad_enabled():
            with torch.no_grad():
                y = output.detach().double()
                self.std = y.std(correction=0).item()
                silent = (y == 0).reshape(-1, y.shape[-1] if y.ndim else 1).all(dim=0)
                self.dead = silent.double().mean().item()

    def report(self, lr):
        own = list(self.layer.parameters(recurse=False))
        g = math.hypot(*(p.grad.double().norm().item() for p in own if p.grad is not None))
        w = math.hypot(*(p.detach().double().norm().item() for p in own))
        row = {"grad_norm": g, "update_ratio": lr * g / w if w else 0.0}
        if self.std is not None:
            row["output_std"], row["dead"] = self.std, self.dead
        return row


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {
            name: Gauge(m)
            for name, m in model.named_modules()
            if not any(True for _ in m.children()) or any(True for _ in m.parameters(recurse=False))
        }
        for gauge in self.gauges.values():
            gauge.handle = gauge.layer.register_forward_hook(gauge)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: gauge.report(lr) for name, gauge in self.gauges.items()}

    def close(self) -> None:
        for gauge in self.gauges.values():
            gauge.handle.remove()
