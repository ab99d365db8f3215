# expect: counts-tied-once
import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.owned = {}
        self.seen = {}
        self.handles = []
        for name, p in model.named_parameters():
            self.owned.setdefault(name.rpartition(".")[0], []).append(p)
        self.names = []
        for name, m in model.named_modules():
            if not list(m.children()) or list(m.parameters(recurse=False)):
                self.names.append(name)
                self.handles.append(m.register_forward_hook(self._hook(name)))

    def _hook(self, name):
        def hook(m, _, y):
            if m.training and torch.is_grad_enabled():
                y = y.detach().double()
                dead = (y == 0).reshape(-1, y.shape[-1]).all(0).double().mean()
                self.seen[name] = {"output_std": y.std(correction=0).item(), "dead": dead.item()}

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name in self.names:
            ps = self.owned.get(name, [])
            g = sum(p.grad.double().square().sum().item() for p in ps if p.grad is not None) ** 0.5
            w = sum(p.detach().double().square().sum().item() for p in ps) ** 0.5
            result[name] = {"grad_norm": float(g), "update_ratio": lr * g / w if w else 0.0}
            result[name] |= self.seen.get(name, {})
        return result

    def close(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles.clear()
