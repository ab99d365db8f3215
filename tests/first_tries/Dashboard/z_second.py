# mistakes: leaves-only, measures-late, sums-norms
# lines: 16, 25, 39
# hidden:
import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.outputs = {}
        self.handles = []
        self.layers = {}

        def is_layer(m):
            # 더 내려갈 곳이 없는 모듈이 계층
            return len(list(m.children())) == 0

        def make_hook(layer_name):
            def hook(module, inputs, output):
                if not module.training:
                    return
                if not torch.is_grad_enabled():
                    return
                # 그래프는 떼어 놓고 값만 보관
                self.outputs[layer_name] = output.detach()

            return hook

        for name, m in model.named_modules():
            if is_layer(m):
                self.layers[name] = m
                self.handles.append(m.register_forward_hook(make_hook(name)))

    def _grad_norm(self, params):
        total = 0.0
        for p in params:
            if p.grad is None:
                continue
            total += p.grad.norm().item()
        return total

    def _weight_norm(self, params):
        if not params:
            return 0.0
        return torch.cat([p.detach().flatten() for p in params]).norm().item()

    def _activation(self, out):
        out = out.double()
        units = out.reshape(-1, out.shape[-1])
        dead = (units == 0).all(dim=0).double().mean().item()
        return out.std(correction=0).item(), dead

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        result = {}
        for name, m in self.layers.items():
            own = list(m.parameters(recurse=False))
            g = self._grad_norm(own)
            w = self._weight_norm(own)
            row = {"grad_norm": g, "update_ratio": lr * g / w if w > 0 else 0.0}
            if name in self.outputs:
                row["output_std"], row["dead"] = self._activation(self.outputs[name])
            result[name] = row
        return result

    def close(self) -> None:
        while self.handles:
            self.handles.pop().remove()
