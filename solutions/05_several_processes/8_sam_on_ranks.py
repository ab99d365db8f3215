# %% [markdown]
r"""
# rank마다 다른 곳으로 올라가는 SAM

이 노트북은 [레슨 04](../04_sam_accumulation/1_silent_bug.ipynb)를 마친 다음에 읽습니다. SAM은 그레이디언트(gradient)를 두 번 구합니다. 첫 번째 그레이디언트로 $w + e$에 올라가고, 두 번째 그레이디언트로 업데이트합니다. 두 번째 패스(pass)만 합치면 rank마다 자기 배치의 $e$로 올라가고, 두 패스를 모두 합치면 한 곳으로 올라갑니다.

동료의 코드가 정말 rank마다 따로 올라가는지 확인하려고 합니다.

**예측.** 10번 업데이트하면서 무엇을 재면 알 수 있을까요?

- a: 업데이트한 뒤 두 rank의 가중치(weight)가 다른지를 봅니다.
- b: 두 rank의 손실(loss)이 다른지를 봅니다.
- c: 업데이트마다 그레이디언트를 몇 번 합쳤는지를 셉니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 분류기, 실험용 SAM(SmallSAM, ρ = 0.1, SGD의 학습률 0.5), 식으로 구한 두 SAM(by_formula)
import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.classifier import farthest, weights_of
from grader.experiments.several_processes.climbing import (
    SmallSAM,
    batches_of,
    by_formula,
    cosine_of_climbs,
)
from grader.experiments.several_processes.digits import make_model
from grader.experiments.several_processes.processes import run_ranks
from grader.experiments.several_processes.windows import count_reductions
from grader.plots import show_table

torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-21")


# %%
def climb_apart(ddp, sam, xb, yb):
    with ddp.no_sync():
        loss = F.cross_entropy(ddp(xb), yb)
        loss.backward()
    sam.first_step(zero_grad=True)
    F.cross_entropy(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss


# %%
def backward_in_no_sync(ddp, sam, xb, yb):
    loss = F.cross_entropy(ddp(xb), yb)
    with ddp.no_sync():
        loss.backward()
    sam.first_step(zero_grad=True)
    F.cross_entropy(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss


# %%
def ten_updates(rank, world, seed, step):
    ddp = DDP(make_model(seed))
    averages, sam = count_reductions(ddp), SmallSAM(ddp)
    for xb, yb in batches_of(seed, rank, count=10):
        loss = step(ddp, sam, xb, yb)
    return weights_of(ddp), loss.item(), len(averages)  # 가중치, 마지막 손실, 그레이디언트를 합친 횟수


# %% tags=["folded"]
# 실행과 표: 두 코드에서 잰 것 셋. 시드 6개 가운데 가장 작은 것과 큰 것
def six_seeds(rank, world, step):
    return [ten_updates(rank, world, seed, step) for seed in range(6)]


found = {
    "순전파까지 `no_sync()` 안": list(zip(*run_ranks(six_seeds, climb_apart), strict=True)),
    "`backward()`만 `no_sync()` 안": list(zip(*run_ranks(six_seeds, backward_in_no_sync), strict=True)),
}
rows = []
for name, seeds in found.items():
    between = max(farthest(first[:1], second[0]) for first, second in seeds)
    losses = [abs(first[1] - second[1]) for first, second in seeds]
    counts = {rank[2] for ranks in seeds for rank in ranks}
    rows.append([name, f"{between:.0e}", f"{min(losses):.3f} ~ {max(losses):.3f}", *counts])
    assert len(counts) == 1
    assert between == 0.0
    assert min(losses) > 0.001
show_table(["", "두 rank의 가중치 차이", "두 rank의 손실 차이", "합친 횟수"], rows)
assert [row[-1] for row in rows] == [10, 20]
reveal("05-21")

# %% [markdown]
r"""
## 1. 합칠지는 순전파에서 정해집니다

약 10분 · ★★☆

가중치는 두 코드 모두 두 rank에서 비트까지 같고, 손실은 두 코드 모두 다릅니다. rank마다 배치가 다르니 손실은 언제나 다르고, **두 번째 패스를 합치면** 어디로 올라갔든 모두 같은 양을 움직입니다. 이 셋 가운데 횟수만 둘을 갈라놓습니다. 업데이트 10번에 20번 합친 코드는 첫 번째 패스도 합친 것입니다. 식으로 구한 두 SAM과 비교해서 확인합니다.
"""

# %%
climb_rows = []
for name, seeds in found.items():
    for how, together in [("한 곳으로", True), ("따로", False)]:
        formulas = [by_formula(seed, 2, 10, climbs_together=together) for seed in range(6)]
        gaps = [farthest([rank[0] for rank in ranks], w) for ranks, w in zip(seeds, formulas, strict=True)]
        climb_rows.append([name, how, f"{min(gaps):.0e}", f"{max(gaps):.0e}"])
show_table(["코드", "식으로 구한 SAM", "가장 가까운 시드", "가장 먼 시드"], climb_rows)

# %% tags=["folded"]
# 확인: 코드마다 한쪽과 반올림 오차 안에서 같고, 다른 쪽과는 다릅니다
(apart_far, apart_same), (joined_same, joined_far) = [
    [[float(gap) for gap in row[2:]] for row in climb_rows[k : k + 2]] for k in (0, 2)
]
assert apart_same[1] < 1e-14
assert joined_same[1] < 1e-14
assert min(apart_far[0], joined_far[0]) > 1e-3

# %% [markdown]
r"""
DDP는 `ddp(x)`를 부를 때 「이 그래프의 역전파(backward pass)는 합친다」를 정해 둡니다. `backward()`를 부를 때는 이미 정해져 있습니다. 그래서 `backward()`만 감싸면 `no_sync()`를 쓰지 않은 것과 같습니다. 오류도 경고도 없으니, 따로 올라간다고 믿은 채 논문의 표까지 채우게 됩니다. `first_step` 직전의 `.grad`를 두 rank에서 비교해도 알 수 있습니다. 따로 올라가면 다르고, 합치면 같습니다.

반대로 두 패스를 모두 `no_sync()` 안에 두면 한 번도 합치지 않습니다. 첫 노트북의 `ddp.module(x)`처럼, 데이터의 절반으로 저마다 학습(training)하는 모델 둘이 됩니다.

## 2. 무엇이 달라질까요

약 8분 · ★★☆

두 SAM은 얼마나 다를까요? 두 rank가 같은 가중치에서 저마다 샘플 32개로 구한 방향을 비교합니다.

**예측.** 두 방향 사이의 코사인은 어디쯤일까요? 시드 6개, 학습하기 전과 5번, 20번 업데이트한 다음에 잽니다.

- a: 0.9를 넘습니다. 같은 모델에서 같은 데이터의 그레이디언트를 구하기 때문입니다.
- b: 대개 0.2와 0.7 사이입니다.
- c: 0 근처입니다. 배치에 겹치는 샘플이 없기 때문입니다.
"""

# %% tags=["predict"]
predict("05-22")


# %%
cosines = {}
for updates in [0, 5, 20]:  # 합쳐서 올라간 SAM으로 이만큼 업데이트한 다음
    cosines[updates] = [cosine_of_climbs(seed, updates) for seed in range(6)]
    print(f"업데이트 {updates:2}번 뒤: 코사인", *(f"{cosine:6.2f}" for cosine in cosines[updates]))

# %% tags=["folded"]
# 확인: 시드 6개 모두 0.8보다 작고, 열에 일곱은 0.2와 0.7 사이입니다
every = [cosine for updates in cosines.values() for cosine in updates]
assert all(cosine < 0.8 for cosine in every)
assert sum(0.2 <= cosine <= 0.7 for cosine in every) >= 0.7 * len(every)
reveal("05-22")

# %% [markdown]
r"""
같은 곳에서 구한 그레이디언트라도 배치가 다르면 방향이 꽤 다릅니다. 그래서 따로 올라간 SAM과 합쳐서 올라간 SAM은 반올림 오차만큼이 아니라 눈에 보이게 다른 곳으로 갑니다. 논문은 이것을 m-첨예도(m-sharpness)라고 부릅니다. $m$은 올라갈 방향 하나를 정하는 샘플의 수입니다. 여기서는 32입니다. 프로세스 하나에서도 [마이크로 배치마다 올라가면](../04_sam_accumulation/4_other_windows.ipynb) 같은 것이 됩니다. 논문의 실험에서는 작은 $m$이 더 나았습니다([Foret 외, 2021](https://arxiv.org/abs/2010.01412)). 통신도 한 번으로 줄어듭니다.

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
3. 프로세스 하나의 큰 배치가 정답지입니다. 세 프로세스와 float64로 비교하는 작은 실험을 학습보다 먼저 합니다. 둘이면 2로 나눈 코드도 통과합니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- SAM의 어느 패스를 합치고 어느 패스를 따로 둘지 정하고, 그렇게 되었는지 확인합니다.
- 여러 프로세스의 학습 코드를 읽고, 조용히 어긋날 곳을 짚습니다.

**레슨 05를 마쳤습니다.** 잠시 쉬었다가 `clinic()`으로 복습해 보세요. 통과한 함수를 조금 고장 낸 코드가 하루에 5분어치씩 나옵니다. 다음 레슨에서는 손실 곡선이 말해 주지 않는 것을 계기로 찾습니다.

[다음 레슨: 왜 학습이 안 될까요: 계기판과 옵티마이저](../06_why_it_does_not_learn/1_instruments.ipynb)
"""
