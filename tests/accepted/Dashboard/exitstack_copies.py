from contextlib import ExitStack
from functools import partial

import torch
from torch import nn


def _length(tensors):
    """모두 이어 붙인 벡터의 노름"""
    flat = [t.detach().reshape(-1).to(torch.float64) for t in tensors]
    return torch.linalg.vector_norm(torch.cat(flat)).item() if flat else 0.0


class Dashboard:
    """낸 순간의 값을 복사해 두고, 읽을 때 계산한다."""

    def __init__(self, model: nn.Module):
        self.shelf: dict[str, torch.Tensor] = {}
        self.layers: dict[str, nn.Module] = {}
        with ExitStack() as stack:
            for name, m in model.named_modules():
                mine = [p for p in m._parameters.values() if p is not None]
                if mine or not m._modules:
                    self.layers[name] = m
                    stack.callback(m.register_forward_hook(partial(self._keep, name)).remove)
            self._undo = stack.pop_all()

    def _keep(self, name, module, _inputs, output):
        if torch.is_grad_enabled() and module.training:
            self.shelf[name] = output.detach().clone()

    def _row(self, name, m, lr):
        params = {id(p): p for p in m._parameters.values() if p is not None}.values()
        g = _length([p.grad for p in params if p.grad is not None])
        w = _length(params)
        yield "grad_norm", g
        yield "update_ratio", (lr * g / w if w != 0 else 0.0)
        if name in self.shelf:
            y = torch.atleast_1d(self.shelf[name]).double()
            yield "output_std", torch.sqrt(torch.mean((y - y.mean()) ** 2)).item()
            used = torch.count_nonzero(y.reshape(-1, y.shape[-1]), dim=0)
            yield "dead", (used == 0).sum().item() / used.numel()

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: dict(self._row(name, m, lr)) for name, m in self.layers.items()}

    def close(self) -> None:
        self._undo.close()
        self.shelf.clear()
