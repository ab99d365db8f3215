from contextlib import ExitStack

import torch
from torch import nn
from torch.nn.utils import get_total_norm


class Gauge:
    """One layer's instrument."""

    def __init__(self, layer):
        self.layer, self.output = layer, None
        self.handle = layer.register_forward_hook(self)

    def __call__(self, layer, args, output):
        if layer.training and torch.is_grad_enabled():
            units = output.detach().movedim(-1, 0).reshape(output.shape[-1], -1)
            zero = [bool(torch.all(unit == 0)) for unit in units]
            self.output = torch.std(units, unbiased=False).item(), sum(zero) / len(zero)

    def values(self, lr):
        own = list(self.layer.parameters(recurse=False))
        grads = [p.grad for p in own if p.grad is not None]
        size = float(get_total_norm([p.detach() for p in own])) if own else 0.0
        norm = float(get_total_norm(grads)) if grads else 0.0
        values = {"grad_norm": norm, "update_ratio": lr * norm / size if size else 0.0}
        if self.output is not None:
            values |= zip(("output_std", "dead"), self.output)
        return values


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {
            name: Gauge(layer)
            for name, layer in model.named_modules()
            if layer._parameters and any(p is not None for p in layer._parameters.values())
            or not layer._modules
        }
        self.stack = ExitStack()
        for gauge in self.gauges.values():
            self.stack.callback(gauge.handle.remove)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: gauge.values(lr) for name, gauge in self.gauges.items()}

    def close(self) -> None:
        self.stack.close()
