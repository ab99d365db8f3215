# mistakes: leaves-only, counts-eval, counts-no-grad, unbiased-std
# lines: 14, 20, 20, 23
# hidden:
import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = {}
        self.handles = []
        self.stats = {}
        for name, module in model.named_modules():
            if len(list(module.children())) == 0:
                self.layers[name] = module
                self.handles.append(module.register_forward_hook(self._make_hook(name)))

    def _make_hook(self, name):
        def hook(module, inputs, output):
            out = output.detach()
            zeros = (out == 0).reshape(-1, out.shape[-1]).all(dim=0)
            self.stats[name] = {
                "output_std": out.std().item(),
                "dead": zeros.double().mean().item(),
            }

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name, module in self.layers.items():
            params = list(module.parameters(recurse=False))
            g = sum((p.grad.double().norm().item() ** 2 for p in params if p.grad is not None), 0.0) ** 0.5
            w = sum((p.detach().double().norm().item() ** 2 for p in params), 0.0) ** 0.5
            row = {"grad_norm": g, "update_ratio": lr * g / w if w > 0 else 0.0}
            row.update(self.stats.get(name, {}))
            result[name] = row
        return result

    def close(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles = []
