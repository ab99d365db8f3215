# mistakes: skips-frozen, measures-late
# lines: 39, 30
# hidden:
import torch
from torch import nn


def _norm(tensors):
    """모두 이어 붙인 벡터의 노름"""
    if len(tensors) == 0:
        return 0.0
    return torch.cat([t.detach().double().flatten() for t in tensors]).norm().item()


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = {}
        self.outputs = {}
        self.handles = []
        for name, module in model.named_modules():
            is_leaf = len(list(module.children())) == 0
            has_own = len(list(module.parameters(recurse=False))) > 0
            if is_leaf or has_own:
                self.layers[name] = module
                self.handles.append(module.register_forward_hook(self._make_hook(name)))

    def _make_hook(self, name):
        def hook(module, args, output):
            if module.training and torch.is_grad_enabled():
                self.outputs[name] = output.detach()

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name, module in self.layers.items():
            own = [p for p in module.parameters(recurse=False) if p.grad is not None]
            grad_norm = _norm([p.grad for p in own])
            weight_norm = _norm(own)
            row = {"grad_norm": grad_norm, "update_ratio": 0.0}
            if weight_norm > 0:
                row["update_ratio"] = lr * grad_norm / weight_norm
            if name in self.outputs:
                out = torch.atleast_1d(self.outputs[name]).double()
                row["output_std"] = out.std(correction=0).item()
                units = out.reshape(-1, out.shape[-1])
                row["dead"] = (units == 0).all(dim=0).double().mean().item()
            result[name] = row
        return result

    def close(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles.clear()
