# mistakes: skips-frozen, counts-no-grad, share-of-zeros
# lines: 33, 18, 22
# hidden:
import torch
import torch.nn as nn


class LayerGauge:
    """계층 하나에 다는 계기"""

    def __init__(self, layer: nn.Module):
        self.layer = layer
        self.std = None
        self.dead = None
        self.handle = layer.register_forward_hook(self.on_forward)

    def on_forward(self, layer, inputs, output):
        if not layer.training:
            return
        out = output.detach()
        self.std = out.double().std(correction=0).item()
        self.dead = (out == 0).double().mean().item()

    def length(self, tensors):
        # 이어 붙인 벡터의 노름
        if len(tensors) == 0:
            return 0.0
        return torch.cat([t.detach().double().flatten() for t in tensors]).norm().item()

    def values(self, lr):
        moving = [p for p in self.layer.parameters(recurse=False) if p.grad is not None]
        grad_norm = self.length([p.grad for p in moving])
        weight_norm = self.length(moving)
        result = {
            "grad_norm": grad_norm,
            "update_ratio": lr * grad_norm / weight_norm if weight_norm > 0 else 0.0,
        }
        if self.std is not None:
            result["output_std"] = self.std
            result["dead"] = self.dead
        return result


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {}
        for name, module in model.named_modules():
            no_children = len(list(module.children())) == 0
            has_own = len(list(module.parameters(recurse=False))) > 0
            if no_children or has_own:
                self.gauges[name] = LayerGauge(module)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        return {name: gauge.values(lr) for name, gauge in self.gauges.items()}

    def close(self) -> None:
        for gauge in self.gauges.values():
            gauge.handle.remove()
