# expect: asks-the-model
import math

import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.model = model
        self.layers = {
            n: m for n, m in model.named_modules() if not list(m.children()) or list(m.parameters(recurse=False))
        }
        self.stats = {}
        self.handles = [m.register_forward_hook(self._hook(n)) for n, m in self.layers.items()]

    def _hook(self, name):
        def hook(_module, _inputs, y):
            if not (self.model.training and torch.is_grad_enabled()):
                return
            y = y.detach().double()
            dead = (y == 0).reshape(-1, y.shape[-1]).all(0).double().mean()
            self.stats[name] = {"output_std": y.std(correction=0).item(), "dead": dead.item()}

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name, m in self.layers.items():
            ps = list(m.parameters(recurse=False))
            g = math.sqrt(sum(p.grad.double().square().sum().item() for p in ps if p.grad is not None))
            w = math.sqrt(sum(p.detach().double().square().sum().item() for p in ps))
            result[name] = {"grad_norm": g, "update_ratio": lr * g / w if w else 0.0} | self.stats.get(name, {})
        return result

    def close(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles.clear()
