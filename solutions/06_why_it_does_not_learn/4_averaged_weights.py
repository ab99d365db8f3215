# %% [markdown]
r"""
# 가중치의 평균

학습하는 동안 지나온 가중치를 평균한 모델은 마지막 모델보다 나을까요?

### 연습. `ema_update_`

약 20분 · ★★☆
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch
from torch import nn

from grader import check, hint


# %% tags=["exercise:ema_update_"]
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    """평균 모델을 지금의 모델 쪽으로 한 번 옮기고, 쓴 비율을 float로 돌려줍니다.

    ema, model: 구조가 같은 모듈입니다. 처음에는 가중치가 다를 수 있습니다.
    step: 몇 번째로 부르는지입니다. 0부터 셉니다.

    비율 d는 decay와 (1 + step) / (10 + step) 가운데 작은 쪽입니다. 처음에는 작아서, 출발한 자리를 금방 잊습니다.
    매개변수는 d × 평균 + (1 - d) × 지금입니다. 버퍼는 실수든 정수든 지금의 값을 그대로 복사합니다.
    평균 모델의 텐서는 언제나 자기 것입니다. 제자리에서 바뀌고, 그 뒤에 model이 바뀌어도 따라 바뀌지 않습니다.
    계산 그래프를 만들지 않습니다. model의 값, 두 모델의 모드와 requires_grad와 `.grad`는 바뀌지 않습니다.
    """
    # BEGIN SOLUTION
    d = min(decay, (1 + step) / (10 + step))
    with torch.no_grad():
        for mean, now in zip(ema.parameters(), model.parameters(), strict=True):
            mean.lerp_(now, 1 - d)
        for mean, now in zip(ema.buffers(), model.buffers(), strict=True):
            mean.copy_(now)
    return d
    # END SOLUTION


# %% tags=["check"]
check(ema_update_)
