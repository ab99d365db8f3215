# expect: measures-late
import math

import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = {
            n: m for n, m in model.named_modules() if not list(m.children()) or list(m.parameters(recurse=False))
        }
        self.outputs = {}
        self.handles = [m.register_forward_hook(self._hook(n)) for n, m in self.layers.items()]

    def _hook(self, name):
        def hook(m, _inputs, y):
            if m.training and torch.is_grad_enabled():
                self.outputs[name] = y.detach()

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name, m in self.layers.items():
            ps = list(m.parameters(recurse=False))
            g = math.sqrt(sum(p.grad.double().square().sum().item() for p in ps if p.grad is not None))
            w = math.sqrt(sum(p.detach().double().square().sum().item() for p in ps))
            row = {"grad_norm": g, "update_ratio": lr * g / w if w else 0.0}
            if name in self.outputs:
                y = self.outputs[name].double()
                row["output_std"] = y.std(correction=0).item()
                row["dead"] = (y == 0).reshape(-1, y.shape[-1]).all(0).double().mean().item()
            result[name] = row
        return result

    def close(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles.clear()
