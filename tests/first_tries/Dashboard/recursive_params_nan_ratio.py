# mistakes: includes-children, skips-frozen, divides-by-zero
# lines: 44, 47, 50
# hidden:
import torch
from torch import nn


def vec_norm(tensors):
    if not tensors:
        return torch.tensor(0.0)
    return torch.cat([t.detach().flatten() for t in tensors]).norm()


class Dashboard:
    """계층마다 그레이디언트와 출력을 재는 계기판"""

    def __init__(self, model: nn.Module):
        self.records = {}
        self.handles = []
        self.layers = [
            (name, m)
            for name, m in model.named_modules()
            if not list(m.children()) or any(p is not None for p in m._parameters.values())
        ]
        for name, m in self.layers:
            h = m.register_forward_hook(lambda mod, i, o, name=name: self._record(name, mod, o))
            self.handles.append(h)

    @torch.no_grad()
    def _measure(self, out):
        flat = out.detach().reshape(-1, out.size(-1))
        return {
            "output_std": flat.std(correction=0).item(),
            "dead": (flat == 0).all(0).double().mean().item(),
        }

    def _record(self, name, module, out):
        if module.training and torch.is_grad_enabled():
            self.records[name] = self._measure(out)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        values = {}
        for name, m in self.layers:
            params = [p for p in m.parameters()]
            with_grad = [p for p in params if p.grad is not None]
            g = vec_norm([p.grad for p in with_grad])
            w = vec_norm(with_grad)
            values[name] = {
                "grad_norm": g.item(),
                "update_ratio": (lr * g / w).item(),
                **self.records.get(name, {}),
            }
        return values

    def close(self) -> None:
        while self.handles:
            self.handles.pop().remove()
