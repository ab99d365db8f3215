import torch
from torch import nn


class Dashboard:
    def __init__(self, model: nn.Module):
        self.model = model
        self.handles, self.stats = [], {}
        for name, layer in self._layers():
            self.handles.append(layer.register_forward_hook(self._hook(name)))

    def _layers(self):
        for name, layer in self.model.named_modules():
            has_children = any(True for _ in layer.children())
            if has_children and not layer._parameters:
                continue
            yield name, layer

    def _hook(self, name):
        def hook(layer, inputs, output):
            if torch.is_grad_enabled() and layer.training:
                with torch.no_grad():
                    flat = output.flatten()
                    std = ((flat - flat.mean()) ** 2).mean().sqrt()
                    alive = output.abs().view(-1, output.size(-1)).amax(0) > 0
                    self.stats[name] = std.item(), 1 - alive.sum().item() / alive.numel()

        return hook

    def read(self, lr):
        report = {}
        for name, layer in self._layers():
            own = [p for p in layer._parameters.values() if p is not None]
            grads = [p.grad.flatten() for p in own if p.grad is not None]
            norm = torch.cat(grads).norm().item() if grads else 0.0
            weight = torch.cat([p.detach().flatten() for p in own]).norm().item() if own else 0.0
            report[name] = dict(grad_norm=norm, update_ratio=0.0 if weight == 0 else lr * norm / weight)
            if name in self.stats:
                report[name]["output_std"], report[name]["dead"] = self.stats[name]
        return report

    def close(self):
        while self.handles:
            self.handles.pop().remove()
