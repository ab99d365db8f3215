# %% [markdown]
r"""
# 파일은 하나만

모든 rank가 같은 파일에 쓰면 파일이 깨지고, 한 rank만 쓰면 나머지는 다 쓰이기도 전에 읽습니다. 누가 쓰고 누가 기다려야 할까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check, hint

# %% [markdown]
r"""
## 1. 쓰는 rank와 기다리는 rank

약 15분 · ★★☆

### 연습 6. `rank_zero_checkpoint`

약 15분 · ★★☆
"""


# %% tags=["exercise:rank_zero_checkpoint"]
def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    """체크포인트를 path에 저장합니다. 모든 rank가 함께 부르고, 파일은 rank 0만 씁니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체입니다.

    파일에는 `torch.save`로 쓴 dict가 있고, `weights_only=True`로 열립니다. 키는 셋입니다.
    "model": 감싸지 않은 모델의 state_dict. 이름 앞에 `module.`이 붙지 않습니다.
    "optimizer": 옵티마이저의 state_dict.
    "rng": rank마다의 `torch.get_rng_state()`를 rank의 순서대로 담은 리스트. 저장은 난수 상태를 바꾸지 않습니다.
    어느 rank도 파일이 다 쓰이기 전에 돌아오지 않습니다.
    """
    # BEGIN SOLUTION
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())
    if dist.get_rank() == 0:
        checkpoint = {"model": ddp.module.state_dict(), "optimizer": opt.state_dict(), "rng": states}
        torch.save(checkpoint, path)
    # 모든 rank가 부릅니다. rank 0만 부르면 rank 0이 영영 기다립니다
    dist.barrier()
    # END SOLUTION


# %% tags=["check"]
check(rank_zero_checkpoint)
