# %% [markdown]
r"""
# 누가 어느 데이터를 읽는가

rank마다 다른 데이터를 읽되 빠지는 것이 없어야 합니다. PyTorch에서는 `DistributedSampler`가 번호를 나누어 줍니다.

**예측.** 데이터 10개를 rank 네 개에 나누어 줍니다. 설정은 모두 기본값입니다. 네 rank가 읽는 것을 모두 더하면 몇 개일까요?

- a: 12개입니다.
- b: 10개입니다. 두 rank는 하나 적게 읽습니다.
- c: 8개입니다. 나누어떨어지지 않는 2개는 버립니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 데이터를 읽는 순서 세 가지
from statistics import mean, median

import torch
from matplotlib import pyplot as plt
from torch.utils.data import DataLoader, DistributedSampler

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import x_train
from grader.experiments.several_processes.processes import run_ranks
from grader.experiments.several_processes.shards import (
    WORLD,
    new_each_epoch,
    ranks_shuffle_alone,
    same_each_epoch,
    shuffled,
    trained_in_order,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-7")


# %%
def reading(rank, world, call_set_epoch):
    data = torch.arange(10)
    sampler = DistributedSampler(data)  # rank와 world size는 프로세스 그룹에 물어봅니다
    loader = DataLoader(data, batch_size=1, sampler=sampler)
    epochs = []
    for epoch in range(3):
        if call_set_epoch:
            sampler.set_epoch(epoch)
        epochs.append([int(x) for x in loader])
    return epochs


read = run_ranks(reading, True, world=4)
forgotten = run_ranks(reading, False, world=4)

# %% tags=["folded"]
# 표와 확인: rank마다 첫 에폭에 읽은 번호
show_table(["", "첫 에폭에 읽은 번호"], [[f"rank {rank}", epochs[0]] for rank, epochs in enumerate(read)])
for epoch in range(3):
    numbers = [number for epochs in read for number in epochs[epoch]]
    assert [len(epochs[epoch]) for epochs in read] == [3] * 4
    assert set(numbers) == set(range(10))
    assert sorted(numbers.count(number) for number in range(10)) == [1] * 8 + [2, 2]
reveal("05-7")

# %% [markdown]
r"""
## 1. 모자라는 자리를 채우는 까닭

약 7분 · ★☆☆

한 rank라도 일찍 끝나면 나머지는 다음 집합 통신(collective)에서 기다립니다. 그래서 모든 rank가 **같은 개수**를 읽어야 합니다. 방법은 둘입니다.

| `drop_last` | 10개를 넷으로 | 잃는 것 |
|---|---|---|
| `False` (기본값) | 3개씩 12개. 앞에서 나온 것을 다시 넣어 채웁니다 | 두 데이터를 두 번 읽습니다 |
| `True` | 2개씩 8개 | 두 데이터를 읽지 않습니다. 어느 것인지는 `set_epoch`를 부르면 에폭(epoch)마다 달라집니다 |

학습(training)이라면 어느 쪽이든 괜찮습니다. 평가라면 채운 것까지 정확도에 들어갑니다. 바르게 세는 법은 [모든 rank의 정확도](5_metrics.ipynb)에서 씁니다.

나누는 일은 세 단계입니다. 번호를 섞고, 모자라면 채우고, `순서[rank::world]`로 world칸마다 하나씩 가져갑니다. 모든 rank가 같은 순서에서 가져가니 겹치거나 빠지지 않습니다. 그 순서는 시드와 에폭에서 나옵니다. `DistributedSampler`에게는 에폭을 **사람이** 알려 줍니다. `set_epoch`을 부르지 않으면 어떻게 되는지 봅니다.
"""

# %%
for name, epochs in [("set_epoch을 부름", read[0]), ("부르지 않음", forgotten[0])]:
    print(f"{name}: rank 0은 {epochs}")
assert all(epochs[0] == epochs[1] == epochs[2] for epochs in forgotten)
assert all(epochs[0] != epochs[1] for epochs in read)

# %% [markdown]
r"""
부르지 않으면 에폭 0의 순서가 되풀이됩니다. 오류도 경고도 없습니다. 한 프로세스의 `DataLoader(shuffle=True)`는 알아서 새로 섞으니, DDP로 옮기면서 빠뜨리기 쉽습니다.

## 2. rank마다 따로 섞으면

약 7분 · ★★☆

모든 rank가 같은 시드로 섞는 것이 어색해 보일 수 있습니다. 시드에 rank를 더해 저마다 다르게 섞고, 그 순서에서 `[rank::world]`를 가져가게 바꿉니다.

**예측.** 학습 데이터 1,437개를 rank 네 개가 그렇게 나눕니다. 한 에폭 동안 어느 rank도 읽지 않는 데이터는 얼마나 될까요?

- a: 없습니다. 넷이 4분의 1씩 읽습니다.
- b: 4%쯤입니다.
- c: 3분의 1쯤입니다.
"""

# %% tags=["predict"]
predict("05-8")

# %%
n, unread = len(x_train), []
for seed in range(12):
    times_read = torch.zeros(n)
    for rank in range(WORLD):
        times_read[shuffled(n, seed, rank)[rank::WORLD]] += 1  # 시드에 rank가 들어갔습니다
    unread.append((times_read == 0).float().mean().item())

# %% tags=["folded"]
# 확인: 읽지 않은 비율, 시드 12개
print(f"아무도 읽지 않은 데이터: {min(unread):.1%} ~ {max(unread):.1%}")
assert min(unread) > 0.28
assert max(unread) < 0.35
assert abs((1 - 1 / WORLD) ** WORLD - 0.316) < 1e-3
assert abs((1 - 1 / 64) ** 64 - 0.365) < 1e-3
reveal("05-8")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

순서가 rank마다 다르면 `[rank::world]`는 서로 상관없는 4분의 1입니다. 한 데이터가 네 번 모두 빠질 확률은 $(3/4)^4 = 0.316$입니다. 나머지 가운데 여럿은 두 번 이상 읽힙니다. rank가 64개라면 36.5%입니다. 개수는 맞으니 길이를 보아서는 모릅니다. **순서는 하나, 자리만 다르게.** rank는 시드에 넣지 않습니다.

드롭아웃(dropout)처럼 rank마다 달라야 하는 난수도 있습니다. 그래서 시드에 rank를 더하는 줄이 이미 있는 스크립트가 많고, 그 시드로 데이터까지 섞기 쉽습니다.

</details>

## 3. 손실로 알 수 있을까요

약 8분 · ★★☆

에폭마다 새로 섞는 학습, `set_epoch`을 잊은 학습, rank마다 따로 섞은 학습을 비교합니다. 20에폭이고, 시드마다 처음 가중치(weight)는 셋이 같습니다. 학습률은 0.5, 1.0, 1.3 가운데 저마다 검증(validation) 손실이 가장 낮은 것을 씁니다.

**예측.** `set_epoch`을 잊은 쪽의 검증 손실이 새로 섞은 쪽보다 **높게** 나온 시드는 36개 가운데 몇 개쯤일까요?

- a: 36개 모두입니다.
- b: 26개쯤, 셋에 둘 남짓입니다.
- c: 18개쯤, 절반입니다.
"""

# %% tags=["predict"]
predict("05-9")

# %%
ORDERS = {
    "에폭마다 새로": new_each_epoch,
    "`set_epoch`을 잊음": same_each_epoch,
    "rank마다 따로": ranks_shuffle_alone,
}
tuning = {
    name: {rate: median(trained_in_order(order, range(100, 112), rate)) for rate in (0.5, 1.0, 1.3)}
    for name, order in ORDERS.items()
}
best = {name: min(losses, key=losses.get) for name, losses in tuning.items()}
losses = {name: trained_in_order(order, range(36), best[name]) for name, order in ORDERS.items()}

# %% tags=["folded"]
# 표, 그림, 확인: 시드 36개의 검증 손실. 학습률은 다른 시드 12개(100부터 111까지)로 골랐습니다
usual = losses["에폭마다 새로"]
differences = {name: [b - a for a, b in zip(usual, seen, strict=True)] for name, seen in losses.items()}
higher = {name: sum(d > 0 for d in seen) for name, seen in differences.items()}
show_table(
    ["", "고른 학습률", "중앙값", "가장 낮은 시드 ~ 가장 높은 시드", "새로 섞은 쪽보다 높은 시드"],
    [
        [
            name,
            best[name],
            f"{median(seen):.3f}",
            f"{min(seen):.3f} ~ {max(seen):.3f}",
            higher[name] if name in list(ORDERS)[1:] else "",
        ]
        for name, seen in losses.items()
    ],
)
figure, axes = plt.subplots(figsize=(6.4, 3.2))
places = torch.linspace(-0.15, 0.15, 36)
for place, name in enumerate(list(ORDERS)[1:]):
    color = [COLORS["wrong"], COLORS["fourth"]][place]
    axes.scatter(place + places, differences[name], s=14, color=color)
axes.axhline(0, color=COLORS["muted"], linewidth=1)
axes.set_xticks([0, 1], ["set_epoch을 잊음", "rank마다 따로"])
axes.set(ylabel="검증 손실의 차이")
show(
    figure,
    "점 하나가 시드 하나이고, 새로 섞은 학습의 검증 손실을 뺀 값입니다. 두 쪽 모두 0의 위에도 아래에도 점이 있고, 위쪽이 조금 더 많습니다.",
)
assert best == dict.fromkeys(ORDERS, 1.0)
assert 20 <= higher["`set_epoch`을 잊음"] <= 32
assert 0.002 < mean(differences["`set_epoch`을 잊음"]) < 0.02
assert min(differences["`set_epoch`을 잊음"]) < -0.003
assert 15 <= higher["rank마다 따로"] <= 29
assert max(usual) - min(usual) > 2 * mean(differences["`set_epoch`을 잊음"])
reveal("05-9")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

잊은 쪽이 평균 0.009쯤 높습니다. 같은 학습을 시드만 바꾸었을 때의 폭(0.04쯤)이 그 몇 배이므로, **한 번씩 학습해 마지막 검증 손실을 비교해서는 알 수 없습니다.** rank마다 따로 섞은 쪽은 평균 0.005쯤 높지만, 시드 36개 가운데 22개에서만 그랬습니다. 여기서는 에폭마다 다르게 섞으므로, 20에폭을 도는 동안 빠졌던 것을 다른 에폭에 읽습니다.

그래도 고칩니다. 한 에폭만 도는 큰 언어 모델이라면 데이터의 3분의 1이 영영 쓰이지 않고, 평가라면 3분의 1을 빼고 잰 점수입니다. 손실이 아니라 **번호를 세어** 확인합니다. 모든 rank의 번호를 이어 붙여 몇 번씩 나오는지 보는 한 줄이면 됩니다. 번호가 없는 `IterableDataset`에는 샘플러가 끼어들지 못하므로, 데이터가 rank와 로더의 worker를 보고 스스로 나누어야 합니다.

</details>

### 연습. `shard_indices`

약 15분 · ★★☆

`DistributedSampler`가 하는 일을 함수로 씁니다. 데이터가 rank보다 적어도 개수가 맞아야 합니다. 데이터마다 되풀이하는 횟수를 고르게 하려면 무엇을 이어 붙여야 할까요? 순서가 `DistributedSampler`와 같을 필요는 없습니다. 채점기는 모든 rank의 번호를 모아 셉니다.
"""


# %% tags=["exercise:shard_indices"]
def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    """데이터 n개 가운데 이 rank가 이번 에폭에 읽을 번호(0부터)의 리스트를 섞인 순서로 돌려줍니다.

    순서는 seed와 epoch에서만 나옵니다. 같은 인자로 부르면 늘 같고, seed만 다르거나 epoch만 다르면 다릅니다.
    이 rank가 읽는 데이터도 에폭마다 달라집니다. 전역 난수 상태는 바뀌지 않습니다.
    drop_last가 True이면 모든 rank가 n // world개씩 읽고, 두 rank가 같은 번호를 읽지 않습니다.
    drop_last가 False이면 모든 번호가 적어도 한 번 나오고, 모든 rank가 n / world를 올림한 개수만큼 읽습니다.
    모자라는 자리는 데이터를 되풀이해 채웁니다. 번호마다 나오는 횟수의 차이는 많아야 1입니다. n이 world보다 작아도 그렇습니다.
    n이 0이면 빈 리스트입니다. rank가 0 이상 world 미만이 아니면, n이 0이어도 ValueError를 냅니다.
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

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 데이터를 rank에 나누어 주고, 겹치거나 빠진 것이 없는지 셉니다.
- `set_epoch`과 `drop_last`가 무엇을 바꾸는지 압니다.
- 검증 손실이 말해 주지 않는 실수가 있다는 것을 압니다.

데이터까지 나누었으니 쉬어 가도 좋습니다. [다음: 구간마다 한 번만 합치기](3_one_reduction.ipynb)에서는 그레이디언트 누적(gradient accumulation)을 DDP와 함께 씁니다.
"""
