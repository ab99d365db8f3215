# mistakes: removes-others-hooks, makes-up-outputs, counts-no-grad, counts-eval, counts-tied-once
# lines: 54, 43, 22, 22, 37
# hidden:
import math

import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = {}
        self.last = {}
        for name, m in model.named_modules():
            if not list(m.children()) or list(m.parameters(recurse=False)):
                self.layers[name] = m
                m.register_forward_hook(self._hook(name))

    def _hook(self, name):
        def hook(m, x, y):
            # 학습할 때만
            if m.training or torch.is_grad_enabled():
                y = y.detach()
                std = y.double().std(correction=0).item()
                units = (y == 0).flatten(0, -2).all(dim=0) if y.dim() > 1 else y == 0
                self.last[name] = (std, units.double().mean().item())

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        out = {}
        counted = set()
        for name, m in self.layers.items():
            g2, w2 = 0.0, 0.0
            for p in m.parameters(recurse=False):
                if p in counted:
                    continue
                counted.add(p)
                w2 += p.detach().double().square().sum().item()
                if p.grad is not None:
                    g2 += p.grad.double().square().sum().item()
            g, w = math.sqrt(g2), math.sqrt(w2)
            std, dead = self.last.get(name, (0.0, 0.0))
            out[name] = {
                "grad_norm": g,
                "update_ratio": lr * g / w if w else 0.0,
                "output_std": std,
                "dead": dead,
            }
        return out

    def close(self) -> None:
        for m in self.layers.values():
            m._forward_hooks.clear()
