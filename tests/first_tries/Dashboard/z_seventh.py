# mistakes: leaves-only, share-of-zeros, skips-frozen
# lines: 45, 24, 51
# hidden:
import math

import torch
from torch import nn


class _Gauge:
    """계층 하나의 계기: 마지막 학습 순전파의 통계만 숫자로 기억한다"""

    def __init__(self, layer):
        self.layer = layer
        self.stats = {}
        self.handle = layer.register_forward_hook(self._after_forward)

    def _after_forward(self, module, args, output):
        if not (module.training and torch.is_grad_enabled()):
            return
        with torch.no_grad():
            values = output.detach().double()
            self.stats["output_std"] = values.std(correction=0).item()
            self.stats["dead"] = (values == 0).double().mean().item()

    def own_parameters(self):
        return list(self.layer.parameters(recurse=False))

    def remove(self):
        self.handle.remove()


def _joined_norm(tensors):
    total = 0.0
    for t in tensors:
        total += t.detach().double().pow(2).sum().item()
    return math.sqrt(total)


class Dashboard:
    def __init__(self, model: nn.Module):
        self.gauges = {}
        for name, module in model.named_modules():
            # 하위 모듈이 없는 모듈만 계층이다
            if len(list(module.children())) == 0:
                self.gauges[name] = _Gauge(module)

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        report = {}
        for name, gauge in self.gauges.items():
            params = [p for p in gauge.own_parameters() if p.grad is not None]
            grad_norm = _joined_norm(p.grad for p in params)
            weight_norm = _joined_norm(params)
            row = {
                "grad_norm": grad_norm,
                "update_ratio": lr * grad_norm / weight_norm if weight_norm > 0 else 0.0,
            }
            row.update(gauge.stats)
            report[name] = row
        return report

    def close(self) -> None:
        for gauge in self.gauges.values():
            gauge.remove()
