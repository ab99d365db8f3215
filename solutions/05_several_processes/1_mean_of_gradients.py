# %% [markdown]
r"""
# 두 프로세스, 한 스텝

프로세스 두 개가 배치를 나누어 가지고도 한 프로세스의 큰 배치와 똑같이 움직일 수 있습니다. 그레이디언트를 어떻게 합쳐야 그렇게 되는지 먼저 정해 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check, hint

torch.set_num_threads(1)

# %% [markdown]
r"""
## 1. 그레이디언트의 평균

약 20분 · ★★☆

### 연습 1. `all_reduce_mean_`

약 15분 · ★★☆
"""


# %% tags=["exercise:all_reduce_mean_"]
def all_reduce_mean_(params, dist) -> None:
    """매개변수마다 `.grad`를 모든 rank의 `.grad`의 평균으로 바꿉니다.

    params: 매개변수의 이터러블입니다. 제너레이터일 수 있습니다. 모든 rank가 같은 매개변수를 같은 순서로 줍니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체입니다.

    어떤 rank에서만 `.grad`가 None이면 그 rank의 몫은 0입니다. 그 rank의 `.grad`도 평균이 됩니다.
    모든 rank에서 None이면 `.grad`는 0이 됩니다.
    `requires_grad`가 False인 매개변수는 건너뜁니다. 어느 rank에서나 같은 매개변수가 그렇습니다.
    `.grad`의 dtype은 바뀌지 않고, 매개변수의 값도 바뀌지 않습니다.
    """
    # BEGIN SOLUTION
    world_size = dist.get_world_size()
    for param in params:
        if not param.requires_grad:
            continue
        # None이어도 빠지지 않습니다. 한 rank라도 빠지면 나머지가 영영 기다립니다
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)
        param.grad /= world_size
    # END SOLUTION


# %% tags=["check"]
check(all_reduce_mean_)
