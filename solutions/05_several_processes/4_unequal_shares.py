# %% [markdown]
r"""
# rank마다 토큰 수가 다르면

rank마다 평균을 내고 다시 평균을 내면, 토큰이 적은 rank의 토큰이 더 크게 들어갑니다. 모든 토큰의 몫이 같아지려면 누구의 개수로 나누어야 할까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
from contextlib import nullcontext

import torch
from torch.nn import functional as F

from grader import check, hint

# %% [markdown]
r"""
## 1. 하나의 개수

약 20분 · ★★☆

### 연습 4. `global_token_mean_step`

약 25분 · ★★★
"""


# %% tags=["exercise:global_token_mean_step"]
def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    """모든 rank의 마이크로 배치를 모아 함께 한 번 업데이트하고, 업데이트하기 전의 평균 손실을 float로 돌려줍니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다. ddp(x)는 (배치, 시간, 어휘) 로짓입니다. 역전파가 끝나면 `.grad`는 rank들의 평균입니다.
    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. rank마다 하나 이상이고, 개수와 토큰 수는 rank마다 다를 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체입니다.

    정답이 ignore_index인 위치는 세지 않습니다. 한 rank의 토큰이 모두 그래도 됩니다.
    업데이트도 반환값도 모든 rank의 유효한 토큰을 한 배치에 담았을 때와 같습니다. 반환값은 모든 rank에서 같습니다.
    그레이디언트는 부를 때마다 한 번만 합칩니다.
    부르기 전에 남아 있던 그레이디언트는 섞이지 않습니다.
    마이크로 배치를 하나씩 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    모든 rank에 유효한 토큰이 하나도 없으면 업데이트하지 않고 모든 rank에서 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    batches = list(micro_batches)
    num_valid = torch.tensor(sum(int((y != ignore_index).sum()) for _, y in batches))
    dist.all_reduce(num_valid)
    if num_valid == 0:
        raise ValueError("유효한 토큰이 하나도 없습니다")
    opt.zero_grad()
    loss_sum = torch.zeros((), dtype=torch.float64)
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            logits = ddp(x)
            loss = F.cross_entropy(
                logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
            )
            # DDP는 rank의 수로 나눕니다. 그만큼 곱해 두면 모든 토큰이 같은 수로 나뉩니다
            (loss * dist.get_world_size() / num_valid).backward()
        loss_sum += loss.detach()
    opt.step()
    dist.all_reduce(loss_sum)
    return (loss_sum / num_valid).item()
    # END SOLUTION


# %% tags=["check"]
check(global_token_mean_step)
