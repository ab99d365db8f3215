# mistakes: leaves-only, share-of-zeros, counts-no-grad
# lines: 13, 24, 19
# hidden:
import math

import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self._rows = {}
        self._mods = {n: m for n, m in model.named_modules() if not any(True for _ in m.children())}
        self._hooks = [m.register_forward_hook(self._watch(n)) for n, m in self._mods.items()]

    def _watch(self, name):
        def fn(mod, _inputs, out):
            # 학습할 때의 값만 잰다
            if not mod.training:
                return
            o = out.detach().double()
            self._rows[name] = {
                "output_std": o.std(correction=0).item(),
                "dead": (o == 0).double().mean().item(),
            }

        return fn

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        table = {}
        for name, mod in self._mods.items():
            g2 = w2 = 0.0
            for p in mod.parameters(recurse=False):
                w2 += p.detach().double().square().sum().item()
                if p.grad is not None:
                    g2 += p.grad.detach().double().square().sum().item()
            g, w = math.sqrt(g2), math.sqrt(w2)
            table[name] = {"grad_norm": g, "update_ratio": lr * g / w if w else 0.0, **self._rows.get(name, {})}
        return table

    def close(self) -> None:
        while self._hooks:
            self._hooks.pop().remove()
