# mistakes: counts-no-grad, dead-below-zero, skips-frozen
# lines: 31, 36, 47
# hidden:
import torch
from torch import nn


def 벡터_노름(텐서들):
    # 여러 텐서를 한 벡터로 이어 붙였을 때의 길이
    제곱합 = 0.0
    for t in 텐서들:
        제곱합 += t.detach().double().pow(2).sum().item()
    return 제곱합 ** 0.5


class Dashboard:
    def __init__(self, model: nn.Module):
        self.layers = {}
        self.outputs = {}
        self.handles = []
        for name, module in model.named_modules():
            is_leaf = next(module.children(), None) is None
            has_params = next(module.parameters(recurse=False), None) is not None
            if is_leaf or has_params:
                self.layers[name] = module
                self.handles.append(module.register_forward_hook(self._make_hook(name)))

    def _make_hook(self, name):
        def hook(module, args, output):
            # 학습할 때의 순전파만 적는다
            if not module.training:
                return
            with torch.no_grad():
                값 = output.detach()
                유닛별 = 값.reshape(-1, 값.shape[-1])
                죽은_유닛 = (유닛별 <= 0).all(dim=0)
                self.outputs[name] = {
                    "output_std": 값.std(correction=0).item(),
                    "dead": 죽은_유닛.double().mean().item(),
                }

        return hook

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        table = {}
        for name, module in self.layers.items():
            params = [p for p in module.parameters(recurse=False) if p.grad is not None]
            grad_norm = 벡터_노름([p.grad for p in params])
            weight_norm = 벡터_노름(params)
            row = {
                "grad_norm": grad_norm,
                "update_ratio": lr * grad_norm / weight_norm if weight_norm > 0 else 0.0,
            }
            row.update(self.outputs.get(name, {}))
            table[name] = row
        return table

    def close(self) -> None:
        while self.handles:
            self.handles.pop().remove()
