# %% [markdown]
r"""
# 모든 rank의 정확도

rank마다 잰 정확도를 평균 내면 전체의 정확도일까요? 데이터가 나누어떨어지지 않는 평가 세트로 확인합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check, hint

# %% [markdown]
r"""
## 1. 개수를 모으기

약 15분 · ★★☆

### 연습 5. `gather_metrics`

약 10분 · ★★☆
"""


# %% tags=["exercise:gather_metrics"]
def gather_metrics(correct, total, dist) -> float:
    """이 rank가 센 개수를 모아, 모든 rank의 데이터를 한 번에 센 정확도를 float로 돌려줍니다.

    correct, total: 이 rank에서 맞힌 개수와 전체 개수입니다. 파이썬의 정수이거나 원소가 하나인 정수 텐서입니다. rank마다 다르고, 0일 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체입니다.

    모든 rank가 같은 값을 돌려줍니다. 개수가 수천만이어도 하나까지 정확히 셉니다. 받은 텐서는 바뀌지 않습니다.
    모든 rank의 total이 0이면 모든 rank에서 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    # float32는 16,777,216보다 큰 정수를 하나씩 세지 못합니다
    counts = torch.tensor([int(correct), int(total)], dtype=torch.int64)
    dist.all_reduce(counts)
    all_correct, all_total = counts.tolist()
    if all_total == 0:
        raise ValueError("데이터가 하나도 없습니다")
    return all_correct / all_total
    # END SOLUTION


# %% tags=["check"]
check(gather_metrics)
