# mistakes: unbiased-std, counts-eval, sums-norms
# lines: 33, 26, 43
# hidden:
import torch
from torch import nn


class Dashboard:
    """모델의 계층마다 계기를 달아, 방금 끝난 학습 스텝의 값을 읽습니다."""

    def __init__(self, model: nn.Module):
        self.layers = {}
        self.measured = {}
        self.handles = []
        for name, module in model.named_modules():
            has_children = len(list(module.children())) > 0
            own = list(module.parameters(recurse=False))
            if has_children and not own:
                continue
            self.layers[name] = module
            self.handles.append(module.register_forward_hook(self._make_hook(name)))

    def _make_hook(self, name):
        def hook(module, inputs, output):
            # 학습 순전파에서만 적는다
            if not torch.is_grad_enabled():
                return
            with torch.no_grad():
                values = output.detach()
                units = values.reshape(-1, values.shape[-1])
                silent = (units == 0).all(dim=0)
                self.measured[name] = {
                    "output_std": values.std(),
                    "dead": silent.double().mean(),
                }

        return hook

    @staticmethod
    def _joined_norm(tensors):
        total = 0.0
        for t in tensors:
            total += t.detach().norm().item()
        return total

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        report = {}
        for name, module in self.layers.items():
            own = list(module.parameters(recurse=False))
            grad_norm = self._joined_norm([p.grad for p in own if p.grad is not None])
            weight_norm = self._joined_norm(own)
            row = {"grad_norm": grad_norm}
            row["update_ratio"] = lr * grad_norm / weight_norm if weight_norm > 0 else 0.0
            for key, value in self.measured.get(name, {}).items():
                row[key] = value.item()
            report[name] = row
        return report

    def close(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles = []
