# %% [markdown]
r"""
# 누가 어느 데이터를 읽는가

rank마다 다른 데이터를 읽되 아무것도 빠지지 않아야 합니다. 데이터가 나누어떨어지지 않으면 누가 무엇을 더 읽을까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check, hint

# %% [markdown]
r"""
## 1. 나누기

약 20분 · ★★☆

### 연습 2. `shard_indices`

약 15분 · ★★☆
"""


# %% tags=["exercise:shard_indices"]
def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    """데이터 n개 가운데 이 rank가 이번 에폭에 읽을 번호(0부터)의 리스트를 섞인 순서로 돌려줍니다.

    순서는 seed와 epoch에서만 나옵니다. 같은 인자로 부르면 늘 같고, seed나 epoch이 다르면 다릅니다.
    이 rank가 읽는 데이터도 에폭마다 달라집니다. 전역 난수 상태는 바뀌지 않습니다.
    drop_last가 True이면 모든 rank가 n // world개씩 읽고, 두 rank가 같은 번호를 읽지 않습니다.
    drop_last가 False이면 모든 번호가 적어도 한 번 나오고, 모든 rank가 n / world를 올림한 개수만큼 읽습니다.
    모자라는 자리는 데이터를 되풀이해 채웁니다. 되풀이하는 횟수는 데이터마다 많아야 하나 차이입니다. n이 world보다 작아도 그렇습니다.
    n이 0이면 빈 리스트입니다. rank가 0 이상 world 미만이 아니면 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    if not 0 <= rank < world:
        raise ValueError(f"rank는 0부터 {world - 1}까지입니다: {rank}")
    # 모든 rank가 같은 순열을 뽑습니다. rank는 시드에 들어가지 않습니다
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    order = torch.randperm(n, generator=generator).tolist()
    if drop_last:
        order = order[: n // world * world]
    elif n:
        total = (n + world - 1) // world * world
        order = (order * (total // n + 1))[:total]
    return order[rank::world]
    # END SOLUTION


# %% tags=["check"]
check(shard_indices)
