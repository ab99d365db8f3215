# %% [markdown]
r"""
# 손실 곡선에 보이지 않는 것

### 연습. `Dashboard`

약 30분 · ★★★
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch
from torch import nn

from grader import check, hint


# %% tags=["exercise:Dashboard"]
class Dashboard:
    """모델의 계층마다 계기를 달아, 방금 끝난 학습 스텝의 값을 읽습니다.

    계층은 하위 모듈이 없는 모듈(`nn.ReLU`도)과, 자기 것인 매개변수가 있는 모듈입니다. 이름은 model.named_modules()의 이름입니다.
    모든 계층의 출력은 텐서 하나입니다.
    계기를 달아도 순전파의 결과, 그레이디언트, 난수는 비트까지 같습니다. 계산 그래프를 붙들어 두지 않습니다.
    """

    def __init__(self, model: nn.Module):
        """모델의 계층에 계기를 답니다. 여러 개를 달아도 서로 방해하지 않습니다."""
        # BEGIN SOLUTION
        self.outputs = {}
        self.layers = {
            name: layer
            for name, layer in model.named_modules()
            if not list(layer.children()) or list(layer.parameters(recurse=False))
        }

        def note(name, layer, output):
            # 평가할 때의 순전파는 세지 않습니다
            if layer.training and torch.is_grad_enabled():
                # 수만 남깁니다. 텐서를 두면 그래프가 붙들리거나, 다음 계층이 제자리에서 바꿀 수 있습니다
                units = output.detach().reshape(-1, output.shape[-1])
                dead = (units == 0).all(dim=0).double().mean().item()
                self.outputs[name] = {"output_std": units.std(correction=0).item(), "dead": dead}

        self.hooks = [
            layer.register_forward_hook(lambda layer, _, output, name=name: note(name, layer, output))
            for name, layer in self.layers.items()
        ]
        # END SOLUTION

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        """역전파 다음, `step()` 앞에 부릅니다. 계층의 이름마다 다음 값을 float로 담은 dict를 돌려줍니다.

        "grad_norm"    그 계층의 것인 매개변수의 그레이디언트를 모두 이어 붙인 벡터의 노름. `.grad`가 하나도 없으면 0.0
        "update_ratio" lr × grad_norm ÷ 그 매개변수를 모두 이어 붙인 벡터의 노름. 나눌 노름이 0이면 0.0
        "output_std"   마지막 학습 순전파에서 그 계층이 낸 값 전체의 표준편차 (correction=0)
        "dead"         마지막 차원의 유닛 가운데, 그 순전파에서 낸 값이 모두 0인 것의 비율

        학습 순전파는 그 계층이 학습 모드이고 그레이디언트 계산이 켜져 있는 순전파입니다.
        그런 순전파를 아직 하지 않은 계층에는 "output_std"와 "dead"가 없습니다.
        """
        # BEGIN SOLUTION
        told = {}
        for name, layer in self.layers.items():
            params = list(layer.parameters(recurse=False))
            grads = [p.grad for p in params if p.grad is not None]
            grad_norm = sum(grad.square().sum().item() for grad in grads) ** 0.5
            size = sum(p.detach().square().sum().item() for p in params) ** 0.5
            ratio = lr * grad_norm / size if size else 0.0
            told[name] = {"grad_norm": grad_norm, "update_ratio": ratio, **self.outputs.get(name, {})}
        return told
        # END SOLUTION

    def close(self) -> None:
        """단 계기를 모두 뗍니다. 모델에는 아무것도 남지 않고, 두 번 불러도 됩니다."""
        # BEGIN SOLUTION
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        # END SOLUTION


# %% tags=["check"]
check(Dashboard)
