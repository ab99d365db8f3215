# %% [markdown]
r"""
# 구간에 한 번만 합치기

그레이디언트 누적과 DDP를 함께 쓰면 마이크로 배치마다 그레이디언트를 합칠 수도, 구간에 한 번만 합칠 수도 있습니다. 가중치가 같다면 무엇을 세어야 차이가 보일까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
from contextlib import nullcontext

import torch
from torch.nn.utils import clip_grad_norm_

from grader import check, hint

# %% [markdown]
r"""
## 1. no_sync

약 20분 · ★★☆

### 연습 3. `ddp_accumulate`

약 20분 · ★★★
"""


# %% tags=["exercise:ddp_accumulate"]
def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    """이 rank의 마이크로 배치를 모아 모든 rank와 함께 한 번 업데이트하고, 이 rank의 손실의 평균을 float로 돌려줍니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다. `ddp(x)`, `ddp.no_sync()`, `ddp.module`을 쓸 수 있습니다.
    loss_fn(output, target): 배치의 평균 손실입니다.
    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. 크기와 개수는 모든 rank에서 같습니다.

    업데이트는 모든 rank의 마이크로 배치를 한 배치에 담았을 때와 같습니다.
    그레이디언트는 마지막 마이크로 배치에서 한 번만 합칩니다. 집합 통신은 구간마다 하나입니다.
    max_norm이 있으면 합친 그레이디언트를 한 번 클리핑합니다.
    부르기 전에 남아 있던 그레이디언트는 섞이지 않습니다.
    마이크로 배치를 하나씩 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    마이크로 배치가 없으면 업데이트하지 않고 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    batches = list(micro_batches)
    if not batches:
        raise ValueError("마이크로 배치가 하나도 없습니다")
    opt.zero_grad()
    mean_loss = 0.0
    for number, (x, y) in enumerate(batches, start=1):
        # 합칠지는 순전파에서 정해집니다. 그래서 순전파도 no_sync 안에 있어야 합니다
        with nullcontext() if number == len(batches) else ddp.no_sync():
            loss = loss_fn(ddp(x), y) / len(batches)
            loss.backward()
        mean_loss += loss.item()
    if max_norm is not None:
        clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    return mean_loss
    # END SOLUTION


# %% tags=["check"]
check(ddp_accumulate)
