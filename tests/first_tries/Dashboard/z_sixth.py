# mistakes: measures-late, skips-frozen, share-of-zeros
# lines: 19, 59, 31
# hidden:
import torch
from torch import nn


class _Gauge:
    """계층 하나에 다는 계기"""

    def __init__(self, layer: nn.Module):
        self.layer = layer
        self.last_output = None
        self.handle = layer.register_forward_hook(self._remember)

    def _remember(self, module, inputs, output):
        if module.training and torch.is_grad_enabled():
            # detach했으니까 그래프도 안 붙들고, 나중에 천천히 계산해도 된다
            self.last_output = output.detach()

    def own(self):
        return [p for p in self.layer.parameters(recurse=False)]

    def stats(self):
        if self.last_output is None:
            return {}
        out = self.last_output.double()
        zeros = (out == 0).double()
        return {
            "output_std": out.std(correction=0).item(),
            "dead": zeros.mean().item(),
        }

    def remove(self):
        self.handle.remove()
        self.last_output = None


def _joined_norm(tensors):
    if len(tensors) == 0:
        return 0.0
    return torch.cat([t.detach().double().flatten() for t in tensors]).norm().item()


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {}
        for name, module in model.named_modules():
            is_leaf = next(module.children(), None) is None
            has_own = next(module.parameters(recurse=False), None) is not None
            if is_leaf or has_own:
                self.gauges[name] = _Gauge(module)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        table = {}
        for name, gauge in self.gauges.items():
            moving = [p for p in gauge.own() if p.grad is not None]
            grad_norm = _joined_norm([p.grad for p in moving])
            weight_norm = _joined_norm(moving)
            row = {"grad_norm": grad_norm}
            if weight_norm == 0:
                row["update_ratio"] = 0.0
            else:
                row["update_ratio"] = float(lr * grad_norm / weight_norm)
            row.update(gauge.stats())
            table[name] = row
        return table

    def close(self) -> None:
        for gauge in self.gauges.values():
            gauge.remove()
