import weakref

import torch
from torch import nn


class Dashboard:
    """읽을 것들을 함수로 만들어 둔다. 값은 0차원 텐서로 갖고 있다가 읽을 때 float로 바꾼다."""

    def __init__(self, model: nn.Module):
        self._readers = {}
        self._offs = []
        for name, layer in model.named_modules():
            own = tuple(layer.parameters(recurse=False))
            if own or next(layer.children(), None) is None:
                self._readers[name] = self._install(layer, own)

    def _install(self, layer, own):
        memo = weakref.WeakKeyDictionary()

        @torch.no_grad()
        def measure(y):
            y = y.detach().to(torch.float64)
            mean = y.mean()
            peak = y.abs().amax(dim=tuple(range(y.dim() - 1))) if y.dim() > 1 else y.abs()
            return ((y - mean).square().mean().sqrt(), peak.eq(0).double().mean())

        def hook(module, args, out):
            recording = torch.is_grad_enabled() and module.training
            if recording:
                memo[module] = measure(out)

        self._offs.append(layer.register_forward_hook(hook).remove)

        def norm(ts):
            if not ts:
                return 0.0
            parts = torch._foreach_norm([t.detach().double() for t in ts])
            return torch.stack(parts).norm().item()

        def reader(lr):
            g, w = norm([p.grad for p in own if p.grad is not None]), norm(own)
            row = dict(grad_norm=g, update_ratio=0.0 if w == 0 else lr * g / w)
            if layer in memo:
                row |= zip(("output_std", "dead"), (t.item() for t in memo[layer]))
            return row

        return reader

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: reader(lr) for name, reader in self._readers.items()}

    def close(self) -> None:
        while self._offs:
            self._offs.pop()()
