# %% [markdown]
r"""
# 모든 rank의 정확도

평가도 rank마다 나누어서 합니다. 나누어 잰 숫자를 하나로 합치는 일은 쉬워 보이지만, 같은 모델의 정확도가 GPU의 수에 따라 달라지는 코드가 흔합니다. 어디에서 달라지는지 먼저 골라 보세요.

**예측.** 평가 데이터 97개를 `DistributedSampler`로 rank들이 나눕니다. rank마다 맞힌 개수와 본 개수를 세어 `all_reduce`로 더하고, 마지막에 한 번 나눕니다. 모델은 그대로 두고 rank의 수만 2, 4, 8로 바꾸면 정확도는 어떻게 될까요?

- a: 셋 다 한 프로세스에서 잰 것과 같습니다. 개수를 더해 한 번만 나누었습니다.
- b: 셋이 서로 다르고, 한 프로세스에서 잰 것과도 다릅니다.
- c: 셋은 서로 같지만, 한 프로세스에서 잰 것과는 다릅니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 조금 학습한 손글씨 숫자 분류기 여섯 개(시드 0~5), 평가 데이터 97개
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.classifier import trained_classifier
from grader.experiments.several_processes.digits import x_val, y_val
from grader.experiments.several_processes.evaluation import (
    few_val_digits,
    perplexities,
    right_answers,
    val_digits_by_label,
)
from grader.experiments.several_processes.processes import RankError, run_ranks
from grader.plots import show_table

torch.set_num_threads(1)
models = [trained_classifier(seed, steps=25) for seed in range(6)]
images, labels = few_val_digits(97)

# %% tags=["predict"]
predict("05-13")


# %%
def measure(rank, world, model):
    sampler = DistributedSampler(range(len(images)), world, rank, shuffle=False)
    rows = list(sampler)  # 이 rank가 볼 번호
    right = right_answers(model, images[rows], labels[rows]).sum()
    counts = torch.tensor([right, len(rows)])
    dist.all_reduce(counts)  # 모든 rank의 개수를 더합니다
    return counts.tolist()


def measure_all(rank, world):
    return [measure(rank, world, model) for model in models]


counted = {world: run_ranks(measure_all, world=world)[0] for world in [1, 2, 4, 8]}  # 진짜 프로세스들입니다

# %% tags=["folded"]
# 표와 확인: rank의 수마다 센 개수와 정확도
show_table(
    ["rank의 수", "본 개수", "맞힌 개수 (시드 0)", "정확도 (시드 0)", "정확도 (시드 1)"],
    [
        [world, found[0][1], found[0][0], *(f"{right / seen:.2%}" for right, seen in found[:2])]
        for world, found in counted.items()
    ],
)
assert {world: found[0][1] for world, found in counted.items()} == {1: 97, 2: 98, 4: 100, 8: 104}
for model, *found in zip(models, *counted.values(), strict=True):
    alone = right_answers(model, images, labels).sum().item()
    assert found[0] == [alone, 97]
    assert len({right / seen for right, seen in found}) == 4
reveal("05-13")

# %% [markdown]
r"""
## 1. 두 번 센 데이터

약 8분 · ★☆☆

rank마다 같은 개수를 주려고 샘플러(sampler)가 모자라는 자리를 데이터의 앞쪽으로 채웠습니다. 97개를 rank 8개가 나누면 13개씩이고, 합쳐서 104개를 봅니다. 7개는 두 번 세었습니다. 학습(training)에서는 7개를 한 번 더 보아도 큰일이 아니지만, 평가에서는 다른 데이터로 잰 점수가 됩니다. 데이터가 적고 rank가 많을수록 더 틀립니다.

rank $r$이 $k$번째로 보는 데이터의 자리는 $k \times \text{world} + r$입니다. 자리가 데이터의 개수보다 크거나 같으면 채운 것입니다. 채운 것은 세지 않습니다. 아래에서 바뀐 두 줄을 보세요.
"""


# %%
def measure_exactly(rank, world, model):
    rows = list(DistributedSampler(range(len(images)), world, rank, shuffle=False))
    places = torch.arange(rank, len(rows) * world, world)
    is_real = places < len(images)  # 채운 자리가 아닙니다
    right = right_answers(model, images[rows], labels[rows])
    counts = torch.tensor([right[is_real].sum(), is_real.sum()])
    dist.all_reduce(counts)
    return counts.tolist()


def measure_all_exactly(rank, world):
    return [measure_exactly(rank, world, model) for model in models]


exact = {world: run_ranks(measure_all_exactly, world=world)[0] for world in [2, 4, 8]}

# %% tags=["folded"]
# 확인: 모델 여섯 개 모두, rank가 몇이든 한 프로세스와 개수까지 같습니다
for world, found in exact.items():
    print(f"rank {world}개: 맞힌 개수와 본 개수 {found[0]}")
    assert found == counted[1]

# %% [markdown]
r"""
Accelerate의 `gather_for_metrics`가 하는 일이 이것입니다. 마지막 배치에서 되풀이한 것을 잘라 냅니다. `gather`에는 그 일이 없습니다.

## 2. 평균 낼 수 없는 숫자

약 7분 · ★★☆

이번에는 데이터가 나누어떨어집니다. 360개를 rank 4개가 90개씩 봅니다. 언어 모델을 평가할 때 쓰는 퍼플렉시티(perplexity)는 평균 손실(loss)의 지수 $e^{\text{loss}}$입니다. 여기에서는 숫자 분류기의 손실로 구합니다.

**예측.** rank마다 퍼플렉시티를 구하고 그 평균을 냅니다. 전체 데이터로 구한 퍼플렉시티와 비교하면 어떨까요?

- a: 언제나 더 크거나 같습니다.
- b: 같습니다. 모든 rank가 같은 개수를 봅니다.
- c: 클 때도 있고 작을 때도 있습니다.
"""

# %% tags=["predict"]
predict("05-14")

# %%
whole_and_mean = {
    "섞인 순서": [perplexities(model, (x_val, y_val), world=4) for model in models],
    "숫자의 차례로": [perplexities(model, val_digits_by_label(), world=4) for model in models],
}

# %% tags=["folded"]
# 표와 확인: 데이터를 섞어서 나눌 때와 0부터 9까지 차례로 나눌 때. 모델 여섯 개
show_table(
    [
        "평가 데이터의 순서",
        "전체의 퍼플렉시티 (시드 0)",
        "rank마다의 평균 (시드 0)",
        "여섯 모델에서 더 커진 정도",
    ],
    [
        [name, *found[0], f"{min(m / w for w, m in found) - 1:.2%} ~ {max(m / w for w, m in found) - 1:.2%}"]
        for name, found in whole_and_mean.items()
    ],
)
assert all(mean > whole for found in whole_and_mean.values() for whole, mean in found)
assert all(mean < 1.01 * whole for whole, mean in whole_and_mean["섞인 순서"])
mixed, in_order = ([mean / whole for whole, mean in found] for found in whole_and_mean.values())
assert sum(ordered > shuffled for shuffled, ordered in zip(mixed, in_order, strict=True)) >= 4
assert max(in_order) > 1.05
reveal("05-14")

# %% [markdown]
r"""
평균을 낸 다음 지수를 취하는 것과 지수를 취한 다음 평균을 내는 것은 다릅니다. 섞인 데이터에서는 1%도 안 되어 눈에 띄지 않습니다. 비슷한 데이터가 한 rank에 모이면 대개 더 벌어지고, 여섯 모델 가운데 가장 큰 것은 7%쯤입니다. 그래서 **숫자를 평균 내지 않고 재료를 모읍니다.** 마지막 계산은 모은 다음 한 번만 합니다.

| 지표 | rank마다 모을 재료 | 마지막 계산 |
|---|---|---|
| 정확도 | 맞힌 개수, 본 개수 | 나누기 |
| 손실, 퍼플렉시티 | 손실의 합, 토큰의 개수 | 나누기, 그다음 지수 |
| F1 | 맞힌 양성, 틀린 양성, 놓친 양성 | 정밀도와 재현율 |
| AUC, 중앙값 | 점수와 정답 전부(길이를 맞추어 `all_gather`, 아니면 `all_gather_object`) | 한 줄로 세워서 |

합으로 만들 수 없는 지표도 있습니다. 그때는 예측을 통째로 모읍니다.

## 3. 한 번 더 부른 rank

약 8분 · ★★★

채우지 않으면 rank마다 배치의 수가 다를 수 있습니다. 배치마다 `all_reduce`를 부르는 평가 루프를 rank 0은 네 번, rank 1은 세 번 돕니다. 그다음 두 rank가 학습 손실을 하나씩 내어 더합니다. 두 텐서의 모양과 자료형(dtype)은 같습니다.
"""


# %%
RIGHT = [[30, 31, 29, 7], [28, 30, 34]]  # rank마다, 배치마다 맞힌 개수
LOSS = [0.25, 0.5]


def add_up(value):
    total = torch.tensor(float(value))
    dist.all_reduce(total)
    return total.item()


# %%
def evaluate_then_train(rank, world):
    totals = [add_up(right) for right in RIGHT[rank]]
    loss = add_up(LOSS[rank])  # 저마다 학습으로 돌아왔다고 여깁니다
    if rank == 1:
        add_up(28)  # 다음 평가의 첫 배치
    return totals, loss


(totals_0, loss_0), (totals_1, loss_1) = run_ranks(evaluate_then_train)

# %% tags=["folded"]
# 표와 확인: rank마다 받은 값
show_table(
    ["", "배치 1", "배치 2", "배치 3", "배치 4", "손실의 합"],
    [["rank 0", *totals_0, f"{loss_0:.2f}"], ["rank 1", *totals_1, "없음", f"{loss_1:.2f}"]],
)
assert totals_0 == [58.0, 61.0, 63.0, 7.5]
assert (totals_1, loss_1) == ([58.0, 61.0, 63.0], 7.5)
assert loss_0 == 28.25

# %% [markdown]
r"""
첫 노트북에서 본 대로, 집합 통신(collective)은 **몇 번째로 불렀는지**로만 짝을 찾습니다. rank 0의 마지막 배치 7은 rank 1의 손실 0.5와 더해졌고, 그 뒤는 모두 한 칸씩 밀립니다. 오류는 나지 않았습니다. 이것을 고치려고 합니다.

**예측.** 어느 쪽이 이것을 고칠까요?

- a: 평가가 끝나는 곳에 `dist.barrier()`를 둡니다. 먼저 끝난 rank가 거기에서 기다려 줍니다.
- b: 배치마다 더하지 않고 세기만 하다가, 끝에 한 번 더합니다.
- c: a도 b도 고칩니다.
"""

# %% tags=["predict"]
predict("05-15")


# %%
def wait_at_the_end(rank, world):
    totals = [add_up(right) for right in RIGHT[rank]]
    dist.barrier()
    return totals, add_up(LOSS[rank])


def add_once(rank, world):
    total = add_up(sum(RIGHT[rank]))
    return total, add_up(LOSS[rank])


# %%
try:
    print("기다림:", run_ranks(wait_at_the_end, seconds=2))  # 2초가 지나면 멈춥니다
    waited = True
except RankError as error:
    waited = False
    print("기다림:", str(error).splitlines()[0])
print("한 번에:", run_ranks(add_once))

# %% tags=["folded"]
# 확인: 기다리게 한 것은 멈추고, 한 번에 더한 것은 두 rank에서 옳습니다
assert not waited
assert run_ranks(add_once) == [(189.0, 0.75)] * 2
assert sum(map(sum, RIGHT)) == 189
reveal("05-15")

# %% [markdown]
r"""
`barrier()`도 집합 통신입니다. rank 1이 넷째로 부른 것은 `barrier()`이고, rank 0이 넷째로 부른 것은 `all_reduce`입니다. gloo에서는 종류가 다른 둘이 짝이 되지 못해 서로를 기다리다 멈춥니다. 늘 이렇게 알아채는 것은 아닙니다. NCCL의 `barrier()`는 수 하나를 더하는 `all_reduce`라서, GPU에서는 이 둘이 짝이 되어 조용히 지나갈 수 있습니다. 앞의 표처럼 같은 종류끼리 만나도 조용히 섞입니다. 환경 변수 `TORCH_DISTRIBUTED_DEBUG=DETAIL`을 주면 몇 번째로 부르는 것의 종류와 모양을 rank끼리 맞추어 보고, 다르면 오류를 냅니다. 종류도 모양도 같은 둘이 섞이는 것은 이것도 알아채지 못합니다.

샘플러가 채우는 까닭이 여기에 있습니다. 채우지 않으려면 끝에 **한 번만** 더합니다. 몇 배치를 돌았든 모든 rank가 한 번씩 부릅니다. 순전파는 `ddp.module(x)`로 합니다. FSDP의 순전파는 그 자체가 집합 통신이고, 배치 정규화가 있는 `ddp(x)`도 그레이디언트를 계산하는 중이면 그래서, 횟수가 다르면 멈춥니다.

### 연습. `gather_metrics`

약 10분 · ★★☆

rank마다 센 개수 둘을 받아 모든 rank의 정확도를 돌려줍니다. 데이터를 하나도 받지 못한 rank도 함께 불러야 합니다.

개수의 자료형도 고릅니다. float32는 16,777,216보다 큰 정수를 하나씩 세지 못합니다. 토큰을 세면 금방 넘는 수입니다.
"""


# %% tags=["exercise:gather_metrics"]
def gather_metrics(correct, total, dist) -> float:
    """이 rank가 센 개수를 모아, 모든 rank의 데이터를 한 번에 센 정확도를 float로 돌려줍니다.

    correct, total: 이 rank에서 맞힌 개수와 전체 개수입니다. 파이썬의 정수이거나 원소가 하나인 정수 텐서입니다. rank마다 다르고, 0일 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체이고, 그룹은 모든 rank가 든 것 하나뿐입니다.

    모든 rank가 같은 값을 돌려줍니다. 개수가 수천만이어도 하나까지 정확히 셉니다. 받은 텐서는 바뀌지 않습니다.
    모든 rank의 total이 0이면 모든 rank에서 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    # float32는 16,777,216보다 큰 정수를 하나씩 세지 못합니다. nccl로 더한다면 이 텐서를 GPU에 만듭니다
    counts = torch.tensor([int(correct), int(total)], dtype=torch.int64)
    dist.all_reduce(counts)
    all_correct, all_total = counts.tolist()
    if all_total == 0:
        raise ValueError("데이터가 하나도 없습니다")
    return all_correct / all_total
    # END SOLUTION


# %% tags=["check"]
check(gather_metrics)

# %% tags=["folded"]
# 확인: float32로 센 16,777,216 다음의 수
assert torch.tensor(16_777_217, dtype=torch.float32).item() == 16_777_216
assert torch.tensor(16_777_217, dtype=torch.int64).item() == 16_777_217

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- rank가 몇이든 한 프로세스와 개수까지 같은 평가를 씁니다.
- 지표마다 무엇을 모으고 무엇을 나중에 계산할지 정합니다.
- 집합 통신을 부르는 횟수가 rank마다 같은지 살핍니다.

평가는 여기까지입니다. 쉬었다 와도 됩니다. [다음: 파일은 하나만](6_checkpoint.ipynb)에서는 평가한 모델을 저장합니다. 누가 쓰고 누가 기다릴까요?
"""
