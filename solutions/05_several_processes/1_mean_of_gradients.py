# %% [markdown]
r"""
# 두 프로세스, 한 스텝

배치 64개를 두 프로세스가 32개씩 나누어 맡습니다. 각자 그레이디언트(gradient)를 구한 다음 서로 더하고, 모두가 그 합을 받아 저마다 업데이트합니다.

**예측.** 더하기만 하고 프로세스의 수로 나누지 않았습니다. 학습률(learning rate)도 그대로입니다. 배치 64개를 한 프로세스에서 학습한 것과 비교하면 어떻게 될까요?

- a: SGD에서도 AdamW에서도 크게 달라집니다.
- b: 어느 쪽에서나 거의 같습니다.
- c: SGD에서는 크게 달라지고, AdamW에서는 거의 같습니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 숫자 그림과 작은 분류기, 함수 하나를 여러 프로세스에서 실행하는 run_ranks
import torch
import torch.distributed as dist
from matplotlib import pyplot as plt
from torch.nn.parallel import DistributedDataParallel

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import (
    adamw,
    flat,
    loss_fn,
    make_batches,
    make_model,
    sgd,
    train_alone,
    training_loss,
)
from grader.experiments.several_processes.processes import run_ranks
from grader.experiments.several_processes.seeds import SEEDS, run_seeds
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-1")


# %%
def by_hand(rank, world, seed, make_opt, divide):
    model = make_model(seed)
    opt = make_opt(model.parameters())
    for xb, yb in make_batches(seed, 10):
        opt.zero_grad()
        loss_fn(model(xb[rank::world]), yb[rank::world]).backward()  # 내 몫은 절반입니다
        for p in model.parameters():
            dist.all_reduce(p.grad)  # 모든 프로세스의 p.grad를 더합니다
            if divide:
                p.grad /= world
        opt.step()
    return flat(model.parameters())


# %% tags=["folded"]
# 표와 확인: 시드 6개, 진짜 프로세스 두 개, 10스텝
def compared(make_opt, divide):
    """시드마다, 한 프로세스의 가중치에서 벗어난 거리를 한 프로세스가 움직인 거리로 나눕니다."""
    seen = []
    for seed, ranks in zip(SEEDS, run_seeds(by_hand, make_opt, divide), strict=True):
        one = train_alone(make_model(seed), make_opt, make_batches(seed, 10))
        way = (one - flat(make_model(seed).parameters())).norm()
        assert torch.equal(*ranks), "두 rank의 가중치는 비트까지 같습니다"
        seen.append(((ranks[0] - one).norm() / way).item())
    return seen


off = {
    (name, divide): compared(make_opt, divide)
    for name, make_opt in [("SGD", sgd), ("AdamW", adamw)]
    for divide in (True, False)
}
show_table(
    ["옵티마이저", "합친 그레이디언트", "한 프로세스에서 벗어난 거리 ÷ 움직인 거리 (시드 6개)"],
    [
        [name, "합 ÷ 2" if divide else "합", f"{min(seen):.1e} ~ {max(seen):.1e}"]
        for (name, divide), seen in off.items()
    ],
)
assert max(off["SGD", True] + off["AdamW", True]) < 1e-14
assert min(off["SGD", False]) > 0.9
assert max(off["AdamW", False]) < 2e-3
reveal("05-1")

# %% [markdown]
r"""
## 1. rank와 집합 통신

약 7분 · ★☆☆

`by_hand`는 두 프로세스가 똑같이 실행하는 프로그램입니다. 다른 것은 받은 번호뿐입니다. 여기서 쓰는 말은 넷입니다.

| 이름 | 뜻 |
|---|---|
| rank | 프로세스의 번호. 0부터 셉니다 |
| world size | 프로세스의 수. 코드에서는 `dist.get_world_size()` |
| 집합 통신(collective) | 모든 rank가 함께 불러야 끝나는 함수. 한 rank가 부르지 않으면 나머지는 끝나지 않습니다 |
| `all_reduce` | 모든 rank의 텐서를 더해, 그 합을 모든 rank에 돌려주는 집합 통신 |

| | rank 0 | rank 1 |
|---|---|---|
| 각자의 `p.grad` | $g_0$ (32개의 평균) | $g_1$ (32개의 평균) |
| `all_reduce` 다음 | $g_0 + g_1$ | $g_0 + g_1$ |
| world size로 나눈 다음 | 64개의 평균 | 64개의 평균 |

몫이 똑같이 32개이므로 두 평균의 평균은 64개의 평균입니다. 그래서 나눈 쪽은 SGD에서도 AdamW에서도 한 프로세스의 큰 배치와 반올림 오차를 빼면 같습니다. 이 노트북의 모델은 float64이고 드롭아웃이 없어서, 상대 오차가 $10^{-14}$보다 작습니다. 몫이 다르면 그렇지 않습니다. 그 이야기는 [rank마다 토큰 수가 다르면](4_unequal_shares.ipynb)에서 합니다.

나누지 않으면 SGD에서는 학습률을 두 배로 올린 것과 같습니다. AdamW는 그레이디언트를 자기 크기로 나누므로 거의 드러나지 않습니다. rank가 둘일 때 맞춘 학습률로 여덟에서 학습하면 SGD의 걸음은 네 배가 되고, AdamW로 시험한 사람은 아무것도 모릅니다. AdamW에서도 그레이디언트 클리핑(gradient clipping)이 있으면 두 배가 된 노름(norm)이 한도를 더 자주 넘습니다.

실험의 `run_ranks`는 fork로 진짜 프로세스를 만들고 gloo로 잇습니다. 실제 스크립트는 이렇게 시작합니다. `torchrun --nproc-per-node 2 train.py`가 프로세스를 띄우며 번호를 환경 변수에 적고, 스크립트가 그것으로 모임에 들어갑니다.

```python
rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)          # GPU는 프로세스마다 하나입니다
dist.init_process_group("nccl")            # CPU라면 "gloo"
model = DistributedDataParallel(make_model().cuda())
...                                        # 학습
dist.destroy_process_group()
```

데이터를 나르는 것은 CPU에서는 gloo, GPU에서는 nccl입니다. nccl은 GPU에 있는 텐서만 받으니, 개수 하나를 더할 때도 그 GPU에 텐서를 만듭니다. 그리고 nccl의 집합 통신은 예약만 하고 돌아옵니다. 짝이 없으면 한참 뒤의 `.item()`에서 멈추므로, 멈춘 줄이 잘못한 줄은 아닙니다.

## 2. DDP가 하는 일

약 9분 · ★★☆

`DistributedDataParallel`(DDP)은 이 평균을 대신 냅니다. 모델을 감싸면 역전파(backward pass) 도중에 그레이디언트가 생기는 대로 묶어(bucket) rank의 수로 나누고 합칩니다. 통신과 앞 계층의 역전파가 겹치므로 더 빠릅니다. 감쌀 때는 rank 0의 매개변수(parameter)를 모두에게 복사합니다. 손으로 쓴 `by_hand`에는 이것이 없으니 모든 rank가 같은 시드(seed)로 모델을 만들어야 합니다.

감싼 모델에는 원래 모델이 `ddp.module`로 들어 있습니다. 매개변수는 서로 같은 텐서입니다.

**예측.** 학습 루프의 순전파(forward pass)에서 `ddp(x)` 대신 `ddp.module(x)`를 불렀습니다. 어떻게 될까요?

- a: 오류 없이 끝나고, rank마다 다른 모델이 됩니다.
- b: 역전파에서 오류가 납니다. 합칠 그레이디언트를 DDP가 찾지 못합니다.
- c: 매개변수가 같은 텐서이므로 `ddp(x)`와 똑같이 학습합니다.
"""

# %% tags=["predict"]
predict("05-2")


# %%
def with_ddp(rank, world, seed, through_wrapper):
    ddp = DistributedDataParallel(make_model(seed))
    opt = sgd(ddp.parameters())
    weights = [flat(ddp.parameters())]
    for xb, yb in make_batches(seed, 40):
        opt.zero_grad()
        output = ddp(xb[rank::world]) if through_wrapper else ddp.module(xb[rank::world])
        loss_fn(output, yb[rank::world]).backward()
        opt.step()
        weights.append(flat(ddp.parameters()))
    return torch.stack(weights)


# %% tags=["folded"]
# 그림과 확인: 두 rank의 가중치 사이의 거리, 시드 6개
runs = {through: run_seeds(with_ddp, through) for through in (True, False)}
figure, axes = plt.subplots(figsize=(6.4, 3.4))
for through, color, label in [
    (True, COLORS["right"], "ddp(x)"),
    (False, COLORS["wrong"], "ddp.module(x)"),
]:
    for seed, (first, second) in enumerate(runs[through]):
        gap = (first - second).norm(dim=1)
        axes.plot(gap, color=color, linewidth=1.2, label=label if seed == 0 else None)
axes.set(xlabel="스텝", ylabel="두 rank의 가중치 사이의 거리")
axes.legend(loc="lower right", bbox_to_anchor=(1, 0.1))
show(
    figure,
    "시드 6개입니다. ddp(x)로 학습한 두 rank는 40스텝 내내 거리가 0입니다. ddp.module(x)로 학습한 두 rank는 첫 스텝부터 벌어져 다시 만나지 않습니다.",
)
for seed in SEEDS:
    one = train_alone(make_model(seed), sgd, make_batches(seed, 40))
    first, second = runs[True][seed]
    assert torch.equal(first, second)
    assert (first[-1] - one).abs().max() < 1e-14
    first, second = runs[False][seed]
    assert 0.12 < (first[10] - second[10]).norm() < 0.25
    assert (first[1:] - second[1:]).norm(dim=1).min() > 0.05
    assert (first[40] - second[40]).norm() > 1.2 * (first[10] - second[10]).norm()
    for weights in (first, second):
        before, after = (training_loss(weights[step], make_model(seed)) for step in (0, 40))
        assert after < before - 0.3, "두 rank의 손실은 모두 내려갑니다"
print(f"ddp.module(x), 10스텝 뒤의 거리: {[round((a[10] - b[10]).norm().item(), 2) for a, b in runs[False]]}")
reveal("05-2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

DDP는 자기를 거친 순전파만 봅니다. `ddp(x)`가 「이번 역전파에서 합칠 것」을 준비하고, `ddp.module(x)`는 DDP가 없는 것과 같습니다. 오류가 없고 손실은 두 rank 모두에서 내려갑니다. 저장하는 것은 대개 rank 0의 모델이니, 나머지 rank가 한 일은 버려집니다.

`model.generate(...)`처럼 DDP에 없는 메서드를 부르려고 `ddp.module`을 꺼내 쓰다가 학습 루프에도 남는 일이 많습니다. 평가할 때는 `ddp.module`을 써도 됩니다. 알아채려면 **몇 스텝 뒤에 rank들의 가중치를 비교합니다.** 위의 그림처럼 0이어야 합니다.

</details>

## 3. 한 rank에만 그레이디언트가 없으면

약 7분 · ★★☆

배치에 따라 쓰지 않는 계층이 있는 모델이 있습니다. 그러면 어떤 rank에서는 그 계층의 `.grad`가 None입니다. `if p.grad is None: continue`로 건너뛰고 싶어집니다. 모양이 같은 매개변수 세 개로 해 봅니다.

| | 첫째 | 둘째 | 셋째 |
|---|---|---|---|
| rank 0의 `.grad` | 1 | 10 | 100 |
| rank 1의 `.grad` | None | 20 | 200 |

**예측.** rank 1은 첫째 매개변수를 건너뜁니다. 무슨 일이 먼저 생길까요?

- a: rank 0이 첫째 매개변수에서 rank 1을 기다리며 멈춥니다.
- b: 다른 매개변수의 그레이디언트끼리 더해집니다.
- c: 짝이 맞지 않는 `all_reduce`를 부른 순간 오류가 납니다.
"""

# %% tags=["predict"]
predict("05-3")


# %%
def skipping(rank, world):
    grads = [[1.0, 10.0, 100.0], [None, 20.0, 200.0]][rank]
    got = []
    for value in grads:
        if value is None:
            got.append("건너뜀")
            continue
        grad = torch.tensor([value])
        try:
            dist.all_reduce(grad)
            got.append(f"{grad.item():g}")
        except RuntimeError:  # rank 1은 이미 끝나서, 연결이 끊어집니다
            got.append("기다리다 멈춤")
    return got


# %% tags=["folded"]
# 표와 확인: all_reduce 다음의 합
skipped = run_ranks(skipping)
show_table(
    ["", "첫째", "둘째", "셋째"],
    [[f"rank {rank}", *got] for rank, got in enumerate(skipped)],
)
assert skipped == [["21", "210", "기다리다 멈춤"], ["건너뜀", "21", "210"]]
reveal("05-3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

집합 통신에는 매개변수의 이름이 없습니다. rank마다 **부른 순서대로** 짝을 짓습니다. rank 0의 첫째(1)는 rank 1이 처음 부른 둘째(20)와 더해져 21이 되고, 그 뒤가 모두 하나씩 밀립니다. 남은 한 번에서야 rank 0이 기다립니다. 학습을 계속하는 중이라면 다음 스텝의 첫 `all_reduce`와 짝이 되어 멈추지도 않습니다. 여기서는 모양이 같은 수 하나씩이라 조용히 섞였습니다. 짝이 된 둘의 모양이 다르면 gloo는 오류를 내며 끝납니다.

그래서 규칙은 하나입니다. **모든 rank가 같은 집합 통신을 같은 순서로 같은 횟수만큼 부릅니다.** 내줄 것이 없는 rank는 0을 냅니다.

</details>

### 연습. `all_reduce_mean_`

약 15분 · ★★☆

그레이디언트를 rank들의 평균으로 바꿉니다. 위의 `by_hand`와 다른 점은 세 가지입니다. rank의 수를 `dist`에 물어보아야 하고, 어떤 rank에서만 `.grad`가 None인 매개변수가 있고, 얼린 매개변수도 섞여 있습니다. 얼린 것은 어느 rank에서나 얼어 있으니 건너뛰어도 순서가 어긋나지 않습니다. 모든 rank에서 None인 것은 0이 됩니다. None이라면 옵티마이저가 건너뛰지만, 0이면 AdamW는 가중치 감쇠만큼 움직입니다.

채점할 때 rank는 프로세스가 아니라 한 프로세스 안에서 번갈아 가는 스레드입니다. 네트워크가 없는 곳에서 채점하기 때문입니다. 결과가 늘 같고, 끝없이 기다리는 rank가 있으면 몇 번째 집합 통신에서 기다리는지 알려 줄 수도 있습니다. 집합 통신과 `send`, `recv`는 진짜 프로세스에서처럼 움직이고, 채점할 때 없는 함수를 부르면 대신 쓸 것을 알려 줍니다.
"""


# %% tags=["exercise:all_reduce_mean_"]
def all_reduce_mean_(params, dist) -> None:
    """매개변수마다 `.grad`를 모든 rank의 `.grad`의 평균으로 바꿉니다.

    params: 매개변수의 이터러블입니다. 제너레이터일 수 있습니다. 모든 rank가 같은 매개변수를 같은 순서로 줍니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체이고, 그룹은 모든 rank가 든 것 하나뿐입니다.

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
        # None이어도 빠지지 않습니다. 한 rank라도 빠지면 뒤의 짝이 모두 어긋납니다
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)
        param.grad /= world_size
    # END SOLUTION


# %% tags=["check"]
check(all_reduce_mean_)

# %% [markdown]
r"""
통과했으면 함수의 `/= world_size`를 지우고 다시 `check`해 보세요. 카드가 무엇을 보고 알아채는지 볼 수 있습니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 두 프로세스의 한 스텝을 손으로 쓰고, 한 프로세스의 큰 배치와 같은지 확인합니다.
- DDP가 무엇을 보고 그레이디언트를 합치는지 설명합니다.
- 한 rank만 빠진 집합 통신이, 모양이 같으면 왜 오류가 아니라 틀린 값이 되는지 설명합니다.

한 스텝은 같아졌습니다. 쉬어 가기 좋은 곳입니다. [다음: 누가 어느 데이터를 읽는가](2_shards.ipynb)에서는 두 rank가 나누어 읽을 데이터를 정합니다.
"""
