# %% [markdown]
r"""
# 상태를 나누어 갖기

DDP에서는 모든 rank가 같은 가중치(weight)와 같은 옵티마이저(optimizer)의 상태를 들고 있습니다. 같은 것을 여러 벌 두는 셈이니 나누어 가질 수 있습니다. 얼마나 줄어들지 먼저 골라 보세요.

**예측.** 가중치가 $N$개이면 그레이디언트(gradient)도 $N$개, AdamW의 $m$과 $v$는 합쳐서 $2N$개입니다. rank 4개가 $m$과 $v$만 고르게 나누어 가지면, rank마다 들고 있는 수의 개수는 나누지 않았을 때의 얼마일까요? 활성값(activation)은 세지 않습니다.

- a: 8분의 5
- b: 2분의 1
- c: 4분의 1
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 분류기, 고르게 나뉘는 모델(even_model: 64×64 행렬 8개를 학습합니다)
import importlib.util
import inspect

import torch
from matplotlib import pyplot as plt
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.classifier import draw_batches, farthest, train
from grader.experiments.several_processes.digits import make_model
from grader.experiments.several_processes.processes import RankError, run_ranks
from grader.experiments.several_processes.sharding import Held, even_model, numbers_held, whole_weights
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-19")


# %%
def train_whole(rank, world, model, seed):
    ddp = DDP(model)
    opt = torch.optim.AdamW(ddp.parameters(), lr=0.01)
    train(ddp, opt, draw_batches(10 * seed + rank, 20))
    return whole_weights(ddp), numbers_held(ddp, opt.state)


# %%
def train_zero1(rank, world, model, seed):
    ddp = DDP(model)
    opt = ZeroRedundancyOptimizer(ddp.parameters(), torch.optim.AdamW, lr=0.01)
    train(ddp, opt, draw_batches(10 * seed + rank, 20))
    return whole_weights(ddp), numbers_held(ddp, opt.optim.state)  # opt.optim: 이 rank의 몫


whole = run_ranks(train_whole, even_model(seed=0), 0, world=4)
zero1 = run_ranks(train_zero1, even_model(seed=0), 0, world=4)

# %% tags=["folded"]
# 표와 확인: rank마다 가진 숫자의 개수
share_rows = [
    [name, f"{one.weights:,}", f"{one.gradients:,}", f"{one.state:,}", f"{one.total / whole[0][1].total:.3f}"]
    for name, one in [
        ("AdamW", whole[0][1]),
        *((f"ZeRO-1, rank {r}", one) for r, (_, one) in enumerate(zero1)),
    ]
]
show_table(["", "가중치", "그레이디언트", "m과 v", "AdamW의 몇 배"], share_rows)
assert all(one == Held(32768, 32768, 65536) for _, one in whole)
assert all(one == Held(32768, 32768, 16384) for _, one in zero1)
assert zero1[0][1].total / whole[0][1].total == 5 / 8
reveal("05-19")

# %% [markdown]
r"""
## 1. 맡은 것만 업데이트하고, 나머지는 받습니다

약 7분 · ★★☆

이것이 ZeRO의 첫 단계(ZeRO-1)입니다. rank마다 매개변수(parameter)의 일부를 맡습니다. 그레이디언트는 DDP가 이미 평균을 내 두었으니, 맡은 매개변수만 AdamW로 업데이트하고 그 값을 모두에게 보냅니다(`broadcast`). $m$과 $v$는 맡은 rank에만 있으면 됩니다.

AdamW는 원소마다 따로 계산합니다. 그래서 누가 계산하든 결과가 같습니다. 행렬을 통째로 보는 옵티마이저라면 행렬을 쪼개서는 안 됩니다. 앞의 분류기로 시드(seed) 6개에서 확인합니다.
"""


# %%
def both(rank, world):
    found = []
    for seed in range(6):
        adamw, _ = train_whole(rank, world, make_model(seed), seed)
        shared, held = train_zero1(rank, world, make_model(seed), seed)
        found.append((adamw, shared, held))
    return found


# %% tags=["folded"]
# 확인: 시드 6개, 두 rank 모두 AdamW와 비트까지 같습니다
compared = run_ranks(both)
apart = [farthest([shared], adamw) for rank in compared for adamw, shared, _ in rank]
print(f"AdamW와 가장 크게 다른 가중치의 차이: {max(apart)}")
assert max(apart) == 0.0

# %% [markdown]
r"""
## 2. 무엇을 한 덩어리로 나눌까요

약 6분 · ★★☆

이 분류기의 매개변수는 네 개입니다. 64×64, 64, 10×64, 10, 합쳐서 4,810개의 숫자입니다. `ZeroRedundancyOptimizer`는 매개변수를 쪼개지 않고 통째로 맡깁니다.

**예측.** rank 2개가 나누면 $m$과 $v$의 몫은 어떻게 될까요?

- a: 거의 반반입니다.
- b: 85 대 15쯤입니다.
- c: 한 rank가 모두 맡습니다.
"""

# %% tags=["predict"]
predict("05-20")

# %%
states = [rank[0][2].state for rank in compared]
print("rank마다 가진 m과 v:", states)

# %% tags=["folded"]
# 확인: 큰 행렬 하나가 한 rank에 통째로 갑니다
assert sorted(states) == [2 * (64 + 640 + 10), 2 * 64 * 64]
assert 0.84 < max(states) / sum(states) < 0.86
reveal("05-20")

# %% [markdown]
r"""
가장 많이 든 rank가 메모리를 정합니다. 매개변수를 통째로 나누면, 아무리 잘 나누어도 가장 큰 매개변수 하나는 쪼개지지 않습니다. 임베딩 하나가 절반을 차지하는 모델이라면 rank를 늘려도 절반 아래로 줄지 않습니다. 통째로 맡기는 것은 이 구현의 선택이고, 매개변수를 쪼개는 ZeRO-1도 있습니다. 아래에서 볼 FSDP2는 매개변수 하나하나를 쪼갭니다.

## 3. FSDP2: 모두 나눕니다

약 8분 · ★★☆

`fully_shard`는 매개변수마다 첫 차원을 rank의 수로 나눕니다. 가중치도 그레이디언트도 상태도 rank마다 조각만 가집니다. 계산할 때는 모아서(all-gather) 씁니다. 큰 모델에서는 계층(layer)마다 먼저 `fully_shard`하고 마지막에 전체를 감싸야, 한 번에 한 계층만 모았다가 버립니다. 이 작은 모델은 전체를 한 번에 감쌌으므로 스텝 동안에는 가중치가 모두 모여 있습니다. 아래에서 학습(training) 루프가 얼마나 바뀌는지 보세요.
"""


# %%
def train_fsdp(rank, world, seed):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = make_model(seed)
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)  # 나눈 다음에 만듭니다
    shapes = {name: [tuple(p.shape), tuple(p.to_local().shape)] for name, p in model.named_parameters()}
    train(model, opt, draw_batches(10 * seed + rank, 20))
    return whole_weights(model), numbers_held(model, opt.state), shapes


def six_seeds(rank, world):
    return [train_fsdp(rank, world, seed) for seed in range(6)]


# %% tags=["folded"]
# 준비: 옵티마이저를 먼저 만들면 어떻게 되는지 보는 함수
def moved_if_made_first(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = make_model(seed=0)
    before = whole_weights(model)
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    train(model, opt, draw_batches(rank, 5))
    return farthest([whole_weights(model)], before)


# %% tags=["folded"]
# 실행, 표, 그림, 확인: 조각의 모양, rank마다 가진 숫자. 시드 6개에서 AdamW와 비교합니다
try:
    sharded = run_ranks(six_seeds)
except RankError as error:  # gloo가 조각을 모으지 못하는 옛 PyTorch
    sharded = None
    print(f"이 PyTorch({torch.__version__})에서는 건너뜁니다: {error}")
if sharded:
    show_table(["매개변수", "전체", "rank 0의 조각"], [[k, *v] for k, v in sharded[0][0][2].items()])
    assert all(
        farthest([one], compared[0][seed][0]) < 1e-12
        for rank in sharded
        for seed, (one, _, _) in enumerate(rank)
    )
    assert all(rank[0][1] == Held(2405, 2405, 4810) for rank in sharded)
    assert run_ranks(moved_if_made_first) == [0.0, 0.0]
    bars = {
        "AdamW": Held(4810, 4810, 9620),
        "ZeRO-1\nrank 0": compared[0][0][2],
        "ZeRO-1\nrank 1": compared[1][0][2],
        "FSDP2": sharded[0][0][1],
    }
    figure, axis = plt.subplots(figsize=(7.2, 3.4))
    below = [0] * len(bars)
    for kind, label, color in [
        ("weights", "가중치", COLORS["right"]),
        ("gradients", "그레이디언트", COLORS["third"]),
        ("state", "m과 v", COLORS["wrong"]),
    ]:
        heights = [getattr(one, kind) for one in bars.values()]
        axis.bar(list(bars), heights, bottom=below, color=color, label=label, width=0.6)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    axis.set(title="rank 하나가 가진 숫자 (rank 2개)", ylabel="개수")
    axis.legend(loc="upper right")
    show(
        figure,
        "막대 네 개. AdamW는 가중치, 그레이디언트, m과 v를 모두 가져 19,240개입니다. ZeRO-1은 rank 0에서 m과 v가 조금만 줄고 "
        "rank 1에서 크게 줄었습니다. FSDP2는 셋 모두 절반입니다.",
    )

# %% [markdown]
r"""
결과는 AdamW와 같고, 스텝 사이에 들고 있는 것은 세 가지가 모두 꼭 절반입니다(나눈 차원이 둘로 나누어떨어지기 때문입니다). 이 루프에서 바뀐 줄은 `fully_shard` 하나와 순서 하나입니다. **옵티마이저는 나눈 다음에 만듭니다.** 먼저 만들면 나누기 전의 매개변수를 붙들고 있어서, 모델은 움직이지 않습니다.

앞의 노트북에서 배운 것 가운데 둘은 달라집니다. 저장하려면 조각을 모아야 하고 모으는 일은 집합 통신이라, `if rank == 0:` 안에서만 하면 멈춥니다. 또 rank마다 그레이디언트의 조각만 있으니, 노름을 구할 때도 rank끼리 주고받아야 합니다.

| | 나누는 것 | 한 스텝에 오가는 숫자 (rank마다, 약) |
|---|---|---|
| DDP | 없음 | $2N$ |
| ZeRO-1, ZeRO-2 | $m$과 $v$, 그레이디언트까지 | $2N$ |
| ZeRO-3, FSDP2 | 가중치까지 | $3N$ |

통신의 양은 [ZeRO 논문](https://arxiv.org/abs/1910.02054)의 계산입니다. DDP의 $2N$은 더하면서 흩는 데 $N$, 다시 모으는 데 $N$입니다. FSDP는 순전파와 역전파(backward pass) 앞에서 가중치를 모으는 데 $N$씩, 그레이디언트를 흩는 데 $N$을 씁니다. 아래 보너스에서 손으로 쓸 ZeRO-1은 DDP로 합친 다음 가중치를 또 보내므로 $3N$쯤입니다. 위의 작은 모델처럼 전체를 한 번에 감싸면 순전파 다음에 버리지 않아서 다시 모으지 않으므로 $2N$입니다. 개수로 세면, 누적하지 않을 때는 어느 것이나 1.5배를 넘지 않습니다. 누적하면 다릅니다. DDP는 `no_sync()`로 구간마다 한 번만 합치지만, FSDP2는 따로 정하지 않으면 마이크로 배치마다 $3N$을 씁니다. 정하려면 마지막이 아닌 마이크로 배치의 역전파 앞에서 `set_requires_gradient_sync(False)`를 부릅니다. 대신 나누지 않은 그레이디언트를 들고 있어야 합니다.

## 4. 프레임워크는 어느 줄에서 할까요

약 6분 · ★★☆

이 레슨에서 손으로 한 일을 프레임워크도 어딘가에서 합니다. 찾아갈 줄을 적어 둡니다.

| 하는 일 | Accelerate | Lightning | torchtitan |
|---|---|---|---|
| 나누어 읽기 | `prepare(로더)`. 모자라면 채웁니다(`even_batches=True`) | `DistributedSampler`를 넣어 줍니다 | 로더가 `dp_rank`를 받습니다 |
| 구간마다 한 번 합치기 | `accumulate(model)` 안에서 `no_sync` | `_block_parallel_sync_behavior` | FSDP2로 마이크로 배치마다 합칩니다 |
| 개수로 나누기 | `backward`가 누적 횟수로 나눕니다. **토큰 수는 모릅니다** | 누적 횟수로 나눕니다 | `global_valid_tokens`로 나누고, FSDP의 나누기를 끕니다 |
| 평가를 모으기 | `gather_for_metrics`가 채운 것을 자릅니다 | `log(sync_dist=True)`는 샘플 수로 가중한 rank의 **평균**입니다(에폭의 값). 채운 것과 토큰 수는 모릅니다 | 손실의 합을 더합니다 |

`accumulate`와 `_block_parallel_sync_behavior`는 순전파(forward pass)까지 감쌉니다. 앞에서 본 함정을 피하는 자리입니다. 설치된 Accelerate에서 직접 확인합니다.
"""

# %%
if importlib.util.find_spec("accelerate"):
    from accelerate import Accelerator

    for function, sought in [
        (Accelerator.accumulate, "no_sync"),
        (Accelerator.backward, "gradient_accumulation_steps"),
        (Accelerator.gather_for_metrics, "remainder]"),
    ]:
        lines = inspect.getsource(function).splitlines()
        print(f"{function.__name__}: {[line.strip() for line in lines if sought in line][-1]}")
else:
    print("Accelerate가 없어서 건너뜁니다. 설치: pip install accelerate")

# %% [markdown]
r"""
### 보너스. `Zero1AdamW`

약 30분 · ★★★

`ZeroRedundancyOptimizer`가 하는 일을 손으로 씁니다. 맡은 rank를 정하는 규칙은 모든 rank에서 같은 답을 내야 합니다. 서로 묻지 않고 각자 계산하기 때문입니다. 큰 것부터, 지금까지 가장 적게 맡은 rank에 주면 고르게 나뉩니다.

보너스 문제는 채점만 하고 점수에 넣지 않습니다. 힌트도 없습니다.
"""


# %% tags=["exercise:Zero1AdamW"]
class Zero1AdamW:
    """AdamW의 상태를 rank들이 나누어 갖는 옵티마이저입니다(ZeRO-1).

    params: 매개변수의 이터러블입니다. 제너레이터일 수 있습니다. 모든 rank가 같은 순서로 주고, 개수는 rank의 수보다 적을 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체이고, 그룹은 모든 rank가 든 것 하나뿐입니다.

    rank마다 `state`라는 `torch.optim.AdamW`의 상태와 같은 모양의 dict가 있고, 그 rank가 맡은 매개변수의 m과 v만 들어 있습니다.
    rank마다 맡은 원소의 수는 전체를 rank의 수로 나눈 것에 가장 큰 매개변수 하나를 더한 것을 넘지 않습니다.
    """

    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        # BEGIN SOLUTION
        self.params, self.dist = list(params), dist
        held = [0] * dist.get_world_size()
        self.owners = [0] * len(self.params)
        # 큰 것부터, 지금까지 가장 적게 맡은 rank에 줍니다
        for index in sorted(range(len(self.params)), key=lambda i: -self.params[i].numel()):
            self.owners[index] = held.index(min(held))
            held[self.owners[index]] += self.params[index].numel()
        own = [p for p, owner in zip(self.params, self.owners, strict=True) if owner == dist.get_rank()]
        # AdamW는 빈 리스트를 받지 않습니다
        self.own = (
            torch.optim.AdamW(own, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay) if own else None
        )
        # END SOLUTION

    @property
    def state(self):
        """이 rank가 맡은 매개변수의 상태: 매개변수 -> {"step", "exp_avg", "exp_avg_sq"}."""
        # BEGIN SOLUTION
        return self.own.state if self.own else {}
        # END SOLUTION

    def step(self):
        """모든 매개변수를 `torch.optim.AdamW`와 비트까지 같게 업데이트합니다. `.grad`는 이미 모든 rank에서 같습니다."""
        # BEGIN SOLUTION
        if self.own:
            self.own.step()
        for param, owner in zip(self.params, self.owners, strict=True):
            self.dist.broadcast(param.detach(), src=owner)
        # END SOLUTION

    def zero_grad(self):
        """모든 매개변수의 `.grad`를 None으로 바꿉니다. 맡지 않은 매개변수도 그렇습니다."""
        # BEGIN SOLUTION
        for param in self.params:
            param.grad = None
        # END SOLUTION


# %% tags=["check"]
check(Zero1AdamW)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 무엇을 나누면 메모리가 얼마나 줄고 통신이 얼마나 늘지 어림합니다.
- FSDP2로 감싼 모델을 학습하고, 나누지 않은 학습과 비교합니다.
- 프레임워크의 어느 줄이 이 일을 하는지 찾아갑니다.

나누는 이야기는 여기까지입니다. 쉬어 가기 좋습니다. [다음: rank마다 다른 곳으로 올라가는 SAM](8_sam_on_ranks.ipynb)에서는 `no_sync()`를 SAM의 어느 패스에 쓰는지 봅니다.
"""
