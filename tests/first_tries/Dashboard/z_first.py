# mistakes: asks-the-model, measures-late, skips-frozen
# lines: 29, 30, 39
# hidden:
import torch
from torch import nn


def _joined_norm(tensors):
    if len(tensors) == 0:
        return 0.0
    return torch.cat([t.detach().flatten() for t in tensors]).norm().item()


class Dashboard:
    def __init__(self, model: nn.Module):
        self.model = model
        self.layers = {}
        self.outputs = {}
        self.hooks = []
        for name, m in model.named_modules():
            is_leaf = next(m.children(), None) is None
            has_own = next(m.parameters(recurse=False), None) is not None
            if is_leaf or has_own:
                self.layers[name] = m
                self.hooks.append(m.register_forward_hook(self._recorder(name)))

    def _recorder(self, name):
        def record(layer, args, out):
            if self.model.training and torch.is_grad_enabled():
                self.outputs[name] = out.detach()

        return record

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        board = {}
        for name, m in self.layers.items():
            own = [p for p in m.parameters(recurse=False) if p.grad is not None]
            gn = _joined_norm([p.grad for p in own])
            wn = _joined_norm(own)
            row = {"grad_norm": gn, "update_ratio": lr * gn / wn if wn > 0 else 0.0}

            out = self.outputs.get(name)
            if out is not None:
                row["output_std"] = out.double().std(correction=0).item()
                units = out.reshape(-1, out.shape[-1]) if out.dim() > 0 else out.reshape(1, 1)
                row["dead"] = (units == 0).all(dim=0).float().mean().item()
            board[name] = row
        return board

    def close(self) -> None:
        while self.hooks:
            self.hooks.pop().remove()
