# %% [markdown]
r"""
# 모든 방향으로 똑같이: Muon

그레이디언트 행렬의 특잇값(singular value)은 대개 몇 개만 크고 나머지는 작습니다. Muon은 그 값들을 모두 1 가까이로 맞추고 나서 움직입니다.

### 연습. `newton_schulz`

약 15분 · ★★☆
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch
from torch import nn

from grader import check, hint


# %% tags=["exercise:newton_schulz"]
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """행렬의 특이벡터는 그대로 두고 특잇값을 1 가까이로 맞춘 행렬을 돌려줍니다.

    G: 차원이 둘인 실수 텐서입니다. 가로로도 세로로도 길 수 있습니다.

    먼저 G를 그 프로베니우스 노름(모든 원소를 제곱해 더한 값의 제곱근)으로 나눕니다. 노름이 1e-7보다 작으면 1e-7로 나눕니다.
    그런 다음 X를 aX + b(XXᵀ)X + c(XXᵀ)²X로 바꾸는 일을 steps번 합니다. a, b, c는 3.4445, -4.7750, 2.0315입니다.
    곱하는 XXᵀ의 크기는 G의 가로와 세로 가운데 짧은 쪽입니다. 세로로 긴 행렬은 눕혀서 계산하고 다시 세웁니다.
    다섯 번이면, 노름의 0.002배보다 큰 특잇값은 모두 0.68과 1.21 사이로 갑니다.
    돌려주는 텐서의 모양과 dtype은 G와 같습니다. G의 dtype보다 낮은 정밀도로 계산하지 않습니다. G는 바뀌지 않습니다. 모두 0이면 모두 0입니다.
    """
    # BEGIN SOLUTION
    a, b, c = 3.4445, -4.7750, 2.0315
    is_tall = G.size(0) > G.size(1)
    X = G.mT if is_tall else G
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = X @ X.mT
        X = a * X + (b * gram + c * gram @ gram) @ X
    return X.mT if is_tall else X
    # END SOLUTION


# %% tags=["check"]
check(newton_schulz)

# %% [markdown]
r"""
### 연습. `muon_groups`

약 15분 · ★★☆
"""


# %% tags=["exercise:muon_groups"]
def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    """매개변수를 Muon에 맡길 것과 AdamW에 맡길 것의 두 리스트로 나누어 돌려줍니다.

    Muon에는 안쪽 계층의 행렬, 곧 차원이 꼭 둘인 매개변수를 맡깁니다. 다음은 차원이 둘이어도 AdamW에 맡깁니다.
    - nn.Embedding의 가중치
    - 출력 계층, 곧 named_modules()에서 이름이 head인 모듈 안의 매개변수
    - 위의 둘과 함께 쓰는 매개변수 (출력 계층과 임베딩이 한 텐서인 모델이 많습니다)

    얼린(requires_grad가 거짓인) 매개변수는 어느 쪽에도 넣지 않습니다. 여러 곳에서 함께 쓰는 것은 한 번만 넣습니다.
    두 리스트 모두 model.parameters()의 순서입니다. head라는 모듈이 없으면 KeyError를 냅니다.
    """
    # BEGIN SOLUTION
    modules = dict(model.named_modules())
    outside = {id(p) for p in modules[head].parameters()}
    outside |= {id(p) for one in modules.values() if isinstance(one, nn.Embedding) for p in one.parameters()}
    trained = [p for p in model.parameters() if p.requires_grad]
    inner = [p for p in trained if p.ndim == 2 and id(p) not in outside]
    chosen = {id(p) for p in inner}
    return inner, [p for p in trained if id(p) not in chosen]
    # END SOLUTION


# %% tags=["check"]
check(muon_groups)
