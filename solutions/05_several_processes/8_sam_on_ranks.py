# %% [markdown]
r"""
# rank마다 다른 곳으로 올라가는 SAM

SAM의 첫 번째 패스에서 그레이디언트를 합치지 않으면 rank마다 다른 e로 올라갑니다. 그래도 가중치는 모든 rank에서 같을 수 있습니다. 무엇을 어디에서 합쳐야 할까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check

# %% [markdown]
r"""
## 1. m-sharpness

약 15분 · ★★★

### 보너스 2. `sam_step_local`

약 15분 · ★★★
"""


# %% tags=["exercise:sam_step_local"]
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    """rank마다 자기 배치의 그레이디언트로 올라가는 SAM으로 한 번 업데이트하고, w에서 잰 이 rank의 손실을 float로 돌려줍니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다.
    sam: `first_step(zero_grad=False)`, `second_step(zero_grad=False)`, `zero_grad()`가 있는 SAM입니다.

    첫 번째 패스의 그레이디언트는 합치지 않습니다. rank마다 자기 e로 올라갑니다.
    두 번째 패스의 그레이디언트는 모든 rank에서 평균을 냅니다. 그래서 업데이트한 가중치는 모든 rank에서 같습니다.
    부르기 전에 남아 있던 그레이디언트는 섞이지 않습니다.
    """
    # BEGIN SOLUTION
    sam.zero_grad()
    with ddp.no_sync():
        loss = loss_fn(ddp(xb), yb)
        loss.backward()
    sam.first_step(zero_grad=True)
    loss_fn(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sam_step_local)
