# %% [markdown]
r"""
# rank마다 다른 곳으로 올라가는 SAM

이 노트북은 [레슨 04](../04_sam_accumulation/1_silent_bug.ipynb)를 마친 다음에 읽습니다. SAM은 그레이디언트(gradient)를 두 번 구합니다. 첫 번째 그레이디언트로 $w + e$에 올라가고, 두 번째 그레이디언트로 업데이트합니다. rank마다 자기 배치의 $e$로 올라가려고 첫 번째 패스(pass)의 `backward()`를 `no_sync()`로 감쌌습니다. 그렇게 되는지 먼저 골라 보세요.

**예측.** 순전파(forward pass)는 `no_sync()` 밖에, 첫 번째 `backward()`만 안에 있습니다. 두 번째 패스는 모두 밖에 있습니다. 이렇게 10번 업데이트한 가중치(weight)는 무엇과 같을까요?

- a: rank마다 자기 $e$로 올라간 SAM과 같습니다.
- b: 두 rank의 배치를 합쳐 한 곳으로 올라간 SAM과 같습니다.
- c: 어느 것과도 같지 않고, rank마다 다릅니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 분류기, 실험용 SAM(SmallSAM, ρ = 0.1, SGD의 학습률 0.5), 식으로 구한 두 SAM(by_formula)
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch.nn.parallel import DistributedDataParallel as DDP

from grader import check, predict, reveal
from grader.experiments.several_processes.classifier import farthest, weights_of
from grader.experiments.several_processes.climbing import (
    SmallSAM,
    batches_of,
    by_formula,
    cosine_of_climbs,
)
from grader.experiments.several_processes.digits import make_model, x_val, y_val
from grader.experiments.several_processes.evaluation import val_loss
from grader.experiments.several_processes.processes import run_ranks
from grader.experiments.several_processes.windows import count_reductions
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-21")


# %%
def backward_in_no_sync(ddp, sam, xb, yb):
    loss = F.cross_entropy(ddp(xb), yb)
    with ddp.no_sync():
        loss.backward()
    sam.first_step(zero_grad=True)
    F.cross_entropy(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)


# %%
def ten_updates(rank, world, seed):
    ddp = DDP(make_model(seed))
    averages, sam = count_reductions(ddp), SmallSAM(ddp)
    for xb, yb in batches_of(seed, rank, count=10):
        backward_in_no_sync(ddp, sam, xb, yb)
    return weights_of(ddp), len(averages)  # 가중치, 그레이디언트를 합친 횟수


def six_seeds(rank, world):
    return [ten_updates(rank, world, seed) for seed in range(6)]


# %% tags=["folded"]
# 실행, 표, 확인: 시드 6개에서 식으로 구한 두 SAM과의 차이
found = list(zip(*run_ranks(six_seeds), strict=True))
climb_rows = []
for seed, ranks in enumerate(found):
    weights = [one for one, _ in ranks]
    together, apart = (by_formula(seed, 2, 10, climbs_together=way) for way in (True, False))
    climb_rows.append(
        [seed, farthest(weights, together), farthest(weights, apart), farthest(weights[:1], weights[1])]
    )
    assert farthest(weights, together) < 1e-14
    assert farthest(weights, apart) > 1e-3
    assert [count for _, count in ranks] == [20, 20]
show_table(
    ["시드", "합쳐서 올라간 SAM과의 차이", "따로 올라간 SAM과의 차이", "두 rank 사이의 차이"], climb_rows
)
print(f"업데이트 10번에 그레이디언트를 합친 횟수: {found[0][0][1]}")
reveal("05-21")

# %% [markdown]
r"""
## 1. 합칠지는 순전파에서 정해집니다

약 8분 · ★★☆

`no_sync()`를 쓰지 않은 것과 반올림 오차 안에서 같습니다. 합친 횟수도 업데이트마다 두 번입니다. DDP는 `ddp(x)`를 부를 때 「이 그래프의 역전파(backward pass)는 합친다」를 정해 둡니다. `backward()`를 부를 때는 이미 정해져 있습니다. 오류도 경고도 없으니, 따로 올라간다고 믿은 채 논문의 표까지 채우게 됩니다. 차이를 알려 주는 것은 셋입니다.

| 무엇을 볼까요 | 합쳐서 올라감 | 따로 올라감 |
|---|---|---|
| `first_step` 직전의 `.grad`가 두 rank에서 | 같습니다 | 다릅니다 |
| 업데이트마다 합친 횟수 | 2 | 1 |
| 업데이트한 뒤의 가중치가 두 rank에서 | 같습니다 | 같습니다 |

마지막 줄에 주의하세요. 두 rank의 가중치가 같다는 것만으로는 어느 쪽인지 알 수 없습니다. 따로 올라가도 **두 번째 패스를 합치면** 모두 같은 양을 움직이기 때문입니다.

## 2. 두 패스 모두 안에 두면

약 8분 · ★★☆

이번에는 순전파까지 넣되, 두 번째 패스도 `no_sync()` 안에 두었습니다. 한 번도 합치지 않습니다.

**예측.** 40번 업데이트하는 동안 무엇으로 알아차릴 수 있을까요?

- a: 몇 번째 업데이트에서 오류가 납니다. 합치지 않은 그레이디언트로 업데이트했기 때문입니다.
- b: 손실이 내려가지 않습니다. 두 rank가 서로 다른 곳으로 당기기 때문입니다.
- c: 손실은 두 rank 모두 내려갑니다. 가중치를 비교해야만 압니다.
"""

# %% tags=["predict"]
predict("05-22")


# %%
def never_averaged(rank, world, seed):
    ddp, journal = DDP(make_model(seed)), []
    sam = SmallSAM(ddp)
    for xb, yb in batches_of(seed, rank, count=40):
        with ddp.no_sync():
            F.cross_entropy(ddp(xb), yb).backward()
            sam.first_step(zero_grad=True)
            F.cross_entropy(ddp(xb), yb).backward()
        sam.second_step(zero_grad=True)
        journal.append((val_loss(ddp.module, x_val, y_val).item(), weights_of(ddp)))
    return journal


# %% tags=["folded"]
# 실행, 그림, 확인: 시드 6개의 검증 손실과 두 rank 사이의 거리
def six_journals(rank, world):
    return [never_averaged(rank, world, seed) for seed in range(6)]


journals = list(zip(*run_ranks(six_journals), strict=True))
distances = [[farthest([a], b) for (_, a), (_, b) in zip(*ranks, strict=True)] for ranks in journals]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for rank, color, style in [(0, COLORS["right"], "-"), (1, COLORS["wrong"], "--")]:
    axes[0].plot(
        range(1, 41), [loss for loss, _ in journals[0][rank]], style, color=color, label=f"rank {rank}"
    )
axes[0].set(title="손실은 둘 다 내려갑니다", xlabel="업데이트", ylabel="검증 손실", ylim=(0, None))
axes[0].legend()
for distance in distances:
    axes[1].plot(range(1, 41), distance, color=COLORS["muted"])
axes[1].set(
    title="두 rank의 가중치는 다릅니다", xlabel="업데이트", ylabel="가중치의 가장 큰 차이", ylim=(0, None)
)
show(
    figure,
    "왼쪽: 시드 0에서 두 rank의 검증 손실이 40번 업데이트하는 동안 나란히 2.3에서 0.5쯤으로 내려갑니다. "
    "오른쪽: 시드 6개에서 두 rank의 가중치는 첫 업데이트부터 다르고, 40번째에는 모두 0.1 넘게 벌어져 있습니다.",
)
both_ranks = [rank for ranks in journals for rank in ranks]
assert all(rank[0][0] > 2.0 for rank in both_ranks)
assert all(rank[-1][0] < 0.75 for rank in both_ranks)
assert all(distance[-1] > 0.1 for distance in distances)
assert all(distance[0] > 0.01 for distance in distances)
reveal("05-22")

# %% [markdown]
r"""
저마다 학습(training)하는 모델 둘이 되었습니다. rank 0이 저장한 모델은 데이터의 절반만 본 모델입니다. 손실 곡선에는 나타나지 않으니, 가끔 두 rank의 가중치를 비교하는 줄을 두면 좋습니다.

## 3. 무엇이 달라질까요

약 6분 · ★★☆

두 SAM은 얼마나 다를까요? 두 rank가 올라가려는 방향 사이의 코사인을 재기 전에, 1에 가까울지 0에 가까울지 적어 보세요. 배치는 32개씩입니다.
"""

# %%
cosines = {}
for updates in [0, 5, 20]:  # 합쳐서 올라간 SAM으로 이만큼 업데이트한 다음
    cosines[updates] = [cosine_of_climbs(seed, updates) for seed in range(6)]
    print(f"업데이트 {updates:2}번 뒤: 코사인", *(f"{cosine:6.2f}" for cosine in cosines[updates]))

# %% tags=["folded"]
# 확인: 시드 6개 모두 1보다 한참 작습니다
assert all(cosine < 0.8 for found in cosines.values() for cosine in found)

# %% [markdown]
r"""
같은 곳에서 구한 그레이디언트라도 배치가 다르면 방향이 꽤 다릅니다. 그래서 따로 올라간 SAM은 합쳐서 올라간 SAM의 근사가 아니라 다른 알고리즘입니다. 논문은 이것을 m-첨예도(m-sharpness)라고 부릅니다. $m$은 올라갈 방향 하나를 정하는 샘플의 수입니다. 여기서는 32입니다. 프로세스 하나에서도 [마이크로 배치마다 올라가면](../04_sam_accumulation/4_other_windows.ipynb) 같은 것이 됩니다. 논문의 실험에서는 작은 $m$이 더 나았습니다([Foret 외, 2021](https://arxiv.org/abs/2010.01412)). 통신도 한 번으로 줄어듭니다.

### 보너스. `sam_step_local`

약 15분 · ★★★

rank마다 자기 $e$로 올라가고, 업데이트는 함께 합니다. 무엇을 `no_sync()` 안에 두고 무엇을 밖에 둘지는 위에서 모두 보았습니다. 돌려주는 손실(loss)은 올라가기 전에 잰 것입니다.
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

# %% [markdown]
r"""
## 레슨의 정리

| 하는 일 | 빠뜨리면 | 무엇으로 찾을까요 |
|---|---|---|
| 그레이디언트를 평균 냅니다 | 합이면 학습률(learning rate)이 rank의 수만큼 커집니다 | 프로세스 하나의 큰 배치와 비교합니다 |
| `ddp(x)`를 부릅니다 | `ddp.module(x)`이면 rank마다 다른 모델이 됩니다 | 두 rank의 가중치 |
| 순전파까지 `no_sync()` 안에 둡니다 | 합치는 횟수가 줄지 않습니다 | 횟수를 셉니다 |
| 모든 rank의 개수로 나눕니다 | 데이터가 적은 rank의 몫이 커집니다 | rank마다 개수를 다르게 해 봅니다 |
| 개수를 모아 한 번 나눕니다 | rank의 수에 따라 정확도가 달라집니다 | rank의 수를 바꾸어 잽니다 |
| rank 0이 쓰고 모두 기다립니다 | 지난 파일을 읽고, 어긋난 채로 갑니다 | 불러온 뒤 두 rank의 가중치 |
| rank마다의 난수 상태를 저장합니다 | 끊지 않은 학습과 달라집니다 | 끊지 않은 학습과 비교합니다 |

세 가지만 기억하세요.

1. 어긋남은 대부분 **오류 없이** 지나갑니다. 손실은 두 rank에서 모두 내려갑니다.
2. 집합 통신(collective)은 모든 rank가 같은 차례로 부릅니다. `if rank == 0:` 안에는 두지 않습니다.
3. 프로세스 하나의 큰 배치가 정답지입니다. 두 프로세스와 float64로 비교하는 작은 실험을 학습보다 먼저 합니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- SAM의 어느 패스를 합치고 어느 패스를 따로 둘지 정하고, 그렇게 되었는지 확인합니다.
- 여러 프로세스의 학습 코드를 읽고, 조용히 어긋날 곳을 짚습니다.

**레슨 05를 마쳤습니다. 강의는 지금 여기까지입니다.** 잠시 쉬었다가 `clinic()`으로 복습해 보세요. 통과한 함수를 조금 고장 낸 코드가 하루에 5분어치씩 나옵니다.
"""
