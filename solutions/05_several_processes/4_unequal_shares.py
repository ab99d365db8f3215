# %% [markdown]
r"""
# rank마다 토큰 수가 다르면

지금까지 모든 rank의 몫은 같았습니다. 이번에는 배치 64개를 10개와 54개로 나눕니다. rank마다 자기 손실(loss)의 평균으로 역전파(backward pass)하고, DDP가 두 그레이디언트(gradient)를 평균 냅니다.

**예측.** 10개를 맡은 rank의 샘플 하나는 54개를 맡은 rank의 샘플 하나보다 업데이트에 얼마나 크게 들어갈까요?

- a: 똑같이 들어갑니다. DDP가 평균을 냅니다.
- b: 다섯 배쯤 크게 들어갑니다.
- c: 5분의 1쯤으로 작게 들어갑니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 몫이 다른 rank
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import (
    flat,
    loss_fn,
    make_batches,
    make_model,
    sgd,
    train_alone,
)
from grader.experiments.several_processes.seeds import SEEDS, run_seeds
from grader.experiments.several_processes.shares import (
    SHARES,
    clauses_gradient,
    clauses_of,
    digits_gradient,
    make_letters,
    sum_over_ranks,
)
from grader.plots import show_table

torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-10")


# %%
def uneven(rank, world, seed):
    ddp = DistributedDataParallel(make_model(seed))
    xb, yb = make_batches(seed, 1)[0]
    xb, yb = xb[SHARES[rank]], yb[SHARES[rank]]  # rank 0은 10개, rank 1은 54개
    loss_fn(ddp(xb), yb).backward()  # 저마다 자기 몫의 평균입니다
    return flat(p.grad for p in ddp.parameters())


# %% tags=["folded"]
# 확인: 64개를 한 프로세스에서 구한 그레이디언트와의 차이, 시드 6개
def error_of(gradient, right):
    return ((gradient - right).norm() / right.norm()).item()


def by_samples(seed, first, second):
    """64개를 한 프로세스에서, 샘플마다 이만큼의 몫으로 더한 손실의 그레이디언트를 구합니다."""
    model, (xb, yb) = make_model(seed), make_batches(seed, 1)[0]
    losses = F.cross_entropy(model(xb), yb, reduction="none")
    (first * losses[SHARES[0]].sum() + second * losses[SHARES[1]].sum()).backward()
    return flat(p.grad for p in model.parameters())


uneven_errors = []
for seed, (first, second) in zip(SEEDS, run_seeds(uneven), strict=True):
    uneven_errors.append(error_of(first, digits_gradient(seed)))
    assert torch.equal(first, second)
    assert error_of(first, by_samples(seed, 1 / 10 / 2, 1 / 54 / 2)) < 1e-14
print(f"샘플 하나의 몫: rank 0에서 {1 / 10 / 2:.3f}, rank 1에서 {1 / 54 / 2:.4f}, {54 / 10:.1f}배")
print(
    f"64개를 한 프로세스에서 구한 그레이디언트와의 상대 오차: {min(uneven_errors):.2f} ~ {max(uneven_errors):.2f}"
)
assert min(uneven_errors) > 0.5
reveal("05-10")

# %% [markdown]
r"""
## 1. 모두의 개수로 나누기

약 5분 · ★☆☆

rank마다의 평균을 다시 평균 내면 샘플의 몫은 $\frac{1}{10} \cdot \frac{1}{2}$과 $\frac{1}{54} \cdot \frac{1}{2}$이 됩니다. 5.4배 차이입니다. 그레이디언트가 여기서는 절반 넘게 틀리지만, 모든 rank가 똑같이 틀려서 rank끼리 비교해도 보이지 않습니다.

언제 이렇게 될까요? 데이터의 개수라면 `DistributedSampler`가 맞추어 줍니다. 그러나 **글의 토큰 수**는 같은 문장 수를 나누어 주어도 rank마다 다릅니다. 패딩(padding)을 빼고 세거나 프롬프트를 가리는 손실에서 생기는 일입니다. 글을 이어 붙여 길이를 꼭 맞춘 사전 학습이라면 생기지 않습니다.

## 2. 무엇을 곱할까요

약 5분 · ★★☆

헌법의 조문 여덟 개를 뽑아, rank 0에는 짧은 것 넷, rank 1에는 긴 것 넷을 줍니다. 패딩을 줄이려고 길이가 비슷한 것을 모으면 이렇게 됩니다. 모델은 앞 글자 하나만 보고 다음 글자를 맞히는 작은 것입니다. 정답이 -100인 위치는 `F.cross_entropy`가 세지 않고, 나머지가 유효한 토큰입니다. 그 수를 `all_reduce`로 모두 더해 `num_valid`를 구한 다음, 이렇게 역전파합니다.

```python
(loss_sum / num_valid).backward()  # loss_sum: 이 rank의 토큰의 손실을 모두 더한 것
```

**예측.** DDP를 거친 그레이디언트는 조문 여덟 개를 한 배치에 담았을 때와 비교해 어떨까요?

- a: 같습니다. 모든 토큰을 같은 수로 나누었습니다.
- b: rank의 수만큼 커서 두 배입니다.
- c: rank의 수만큼 작아서 절반입니다.
"""

# %% tags=["predict"]
predict("05-11")


# %%
def tokens(rank, world, seed, how):
    ddp = DistributedDataParallel(make_letters(seed))
    x, y = clauses_of(rank, seed)
    mine = (y != -100).sum()
    num_valid = mine.clone()
    dist.all_reduce(num_valid)
    loss_sum = F.cross_entropy(ddp(x).flatten(0, 1), y.flatten(), ignore_index=-100, reduction="sum")
    (loss_sum / (num_valid if how == "모두의 수" else mine)).backward()
    return flat(p.grad for p in ddp.parameters()), mine.item()


# %% tags=["folded"]
# 표와 확인: 한 배치의 그레이디언트와 비교, 시드 6개
rows = []
for how in ("자기 토큰의 수", "모두의 수"):
    runs = run_seeds(tokens, how)
    ratios, angles = [], []
    for seed, (first, second) in zip(SEEDS, runs, strict=True):
        right = clauses_gradient(seed)
        ratios.append((first[0].norm() / right.norm()).item())
        angles.append(error_of(first[0] * right.norm() / first[0].norm(), right))
        assert torch.equal(first[0], second[0])
        assert first[1] < second[1]
        assert how == "자기 토큰의 수" or error_of(2 * first[0], right) < 1e-14
    rows.append([how, f"{min(ratios):.3f} ~ {max(ratios):.3f}", f"{min(angles):.1e} ~ {max(angles):.1e}"])
    assert (max(angles) < 1e-14) is (how == "모두의 수")
    assert (min(angles) > 0.05) is (how == "자기 토큰의 수")
assert all(abs(ratio - 0.5) < 1e-12 for ratio in ratios)
print("토큰의 수 (rank 0, rank 1):", *((first[1], second[1]) for first, second in runs))
show_table(["나눈 수", "그레이디언트의 길이 ÷ 한 배치의 길이", "길이를 맞춘 다음의 상대 오차"], rows)
reveal("05-11")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

방향은 맞고 길이가 절반입니다. DDP는 합칠 때 **rank의 수로 나누기** 때문입니다. 그래서 손실에 미리 world size를 곱해 둡니다. 그러면 반올림 오차를 빼고 한 배치와 같습니다. AdamW라면 이 절반도 거의 드러나지 않습니다. [두 프로세스, 한 스텝](1_mean_of_gradients.ipynb)에서 본 것과 같습니다.

</details>

한 rank의 정답이 모두 -100이면 어떨까요? 대답이 잘려 나가고 질문만 남은 배치라면 그렇습니다. rank마다 평균을 내는 코드로 재 봅니다.
"""


# %%
def nothing_on_rank_0(rank, world, seed):
    ddp = DistributedDataParallel(make_letters(seed))
    x, y = clauses_of(rank, seed)
    if rank == 0:
        y = torch.full_like(y, -100)
    loss = F.cross_entropy(ddp(x).flatten(0, 1), y.flatten(), ignore_index=-100)  # 평균입니다
    loss.backward()
    return loss.item(), flat(p.grad for p in ddp.parameters())


# %% tags=["folded"]
# 확인: 두 rank의 손실, 그리고 rank 1의 토큰만으로 구한 그레이디언트와 비교, 시드 6개
for seed, (first, second) in zip(SEEDS, run_seeds(nothing_on_rank_0), strict=True):
    alone, (x, y) = make_letters(seed), clauses_of(1, seed)
    F.cross_entropy(alone(x).flatten(0, 1), y.flatten()).backward()
    right = flat(p.grad for p in alone.parameters())
    assert first[0] != first[0], "rank 0의 손실은 NaN입니다"
    assert second[0] == second[0]
    assert torch.equal(first[1], second[1])
    assert error_of(2 * first[1], right) < 1e-14
print(
    f"손실: rank 0 {first[0]}, rank 1 {second[0]:.2f}. 그레이디언트의 길이는 {first[1].norm() / right.norm():.2f}배"
)

# %% [markdown]
r"""
그 rank의 손실은 0을 0으로 나눈 NaN입니다. 그런데 `F.cross_entropy`의 그레이디언트는 NaN이 아니라 0이어서 학습은 멈추지 않고, 다른 rank의 그레이디언트만 절반이 됩니다. 기록에는 NaN이, 업데이트에는 절반이 남습니다. 합으로 두고 모두의 수로 나누면 둘 다 생기지 않습니다.

### 연습. `global_token_mean_step`

약 25분 · ★★★

[구간마다 한 번만 합치기](3_one_reduction.ipynb)의 누적에 토큰의 수를 더합니다. 이번에는 **마이크로 배치의 개수도 rank마다 다릅니다.** 구간마다 한 번만 합치면 개수가 달라도 집합 통신(collective)의 횟수는 같습니다. 마이크로 배치마다 합치면 한쪽이 기다립니다. 토큰이 하나도 없어 그만둘 때도 모든 rank가 함께 그만두어야 합니다. 먼저 무엇을 모아야 정할 수 있을까요?

토큰마다 같은 몫을 주는 것은 하나의 선택일 뿐 법칙은 아닙니다. 문장마다 같은 몫을 주는 손실도 있습니다. 어느 쪽이든 나누는 수는 모든 rank가 같아야 합니다.
"""


# %% tags=["exercise:global_token_mean_step"]
def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    """모든 rank의 마이크로 배치를 모아 함께 한 번 업데이트하고, 업데이트하기 전의 평균 손실을 float로 돌려줍니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다. ddp(x)는 (배치, 시간, 어휘) 로짓입니다. 역전파가 끝나면 `.grad`는 rank들의 평균입니다.
    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. rank마다 하나 이상이고, 개수와 토큰 수는 rank마다 다를 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체이고, 그룹은 모든 rank가 든 것 하나뿐입니다.

    정답이 ignore_index인 위치는 세지 않습니다. 한 rank의 토큰이 모두 그래도 됩니다.
    업데이트도 반환값도 모든 rank의 유효한 토큰을 한 배치에 담았을 때와 같습니다. 반환값은 모든 rank에서 같습니다.
    그레이디언트는 부를 때마다 한 번만 합칩니다. 개수나 손실을 모으는 집합 통신은 몇 번이든 됩니다.
    부르기 전에 남아 있던 그레이디언트는 섞이지 않습니다.
    마이크로 배치를 하나씩 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    모든 rank를 통틀어 유효한 토큰이 하나도 없으면 업데이트하지 않고 모든 rank에서 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    batches = list(micro_batches)
    device = next(ddp.parameters()).device  # nccl은 GPU에 있는 텐서만 더합니다
    num_valid = torch.tensor(sum(int((y != ignore_index).sum()) for _, y in batches), device=device)
    dist.all_reduce(num_valid)
    if num_valid == 0:
        raise ValueError("유효한 토큰이 하나도 없습니다")
    opt.zero_grad()
    loss_sum = torch.zeros((), dtype=torch.float64, device=device)
    for number, (x, y) in enumerate(batches, start=1):
        with nullcontext() if number == len(batches) else ddp.no_sync():
            logits = ddp(x)
            loss = F.cross_entropy(
                logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
            )
            # DDP는 rank의 수로 나눕니다. 그만큼 곱해 두면 모든 토큰이 같은 수로 나뉩니다
            (loss * dist.get_world_size() / num_valid).backward()
        loss_sum += loss.detach()
    opt.step()
    dist.all_reduce(loss_sum)
    return (loss_sum / num_valid).item()
    # END SOLUTION


# %% tags=["check"]
check(global_token_mean_step)

# %% [markdown]
r"""
## 3. 배치의 통계는 누구의 것일까요

약 6분 · ★★☆

배치 정규화(batch normalization)가 있으면 배치의 손실은 샘플마다 따로 구한 손실의 평균이 아닙니다. 샘플 하나의 출력이 같은 배치의 다른 샘플에 달려 있습니다. 그리고 이동 통계량(running statistics)은 매개변수가 아니라 버퍼(buffer)입니다.

**예측.** 배치 정규화가 있는 분류기를 DDP로 감싸고, 두 rank가 32개씩 나누어 다섯 스텝 학습했습니다. 몫은 똑같습니다. 어떻게 될까요?

- a: 가중치는 두 rank가 같지만 큰 배치와 다르고, `running_mean`은 rank마다 다릅니다.
- b: 가중치도 `running_mean`도 두 rank가 같고, 둘 다 64개를 한 배치에 담은 것과 같습니다.
- c: rank마다 정규화가 다르니 가중치도 rank마다 다르고, `running_mean`도 rank마다 다릅니다.
"""

# %% tags=["predict"]
predict("05-12")


# %%
def normalized(rank, world, seed, kind):
    ddp = DistributedDataParallel(make_model(seed, kind(64)))
    opt, norm = sgd(ddp.parameters()), ddp.module[1]
    for xb, yb in make_batches(seed, 5):
        opt.zero_grad()
        loss_fn(ddp(xb[rank::world]), yb[rank::world]).backward()
        opt.step()
    trained = norm.running_mean.clone()
    ddp.eval()
    ddp(xb)  # 평가 모드에서, 감싼 모델을 거쳐 한 번 더 순전파합니다
    return flat(ddp.parameters()), trained, norm.running_mean.clone()


# %% tags=["folded"]
# 표와 확인: 두 rank, 그리고 64개를 한 배치에 담은 한 프로세스와 비교, 시드 6개
def against_alone(kind):
    """시드마다, 큰 배치에서 벗어난 거리의 비, 두 rank의 버퍼의 차이, 큰 배치의 버퍼와의 차이를 구합니다."""
    seen = []
    for seed, (first, second) in zip(SEEDS, run_seeds(normalized, kind), strict=True):
        alone = make_model(seed, nn.BatchNorm1d(64))
        start = flat(alone.parameters())
        one = train_alone(alone, sgd, make_batches(seed, 5))
        assert torch.equal(first[0], second[0]), "두 rank의 가중치는 비트까지 같습니다"
        assert torch.equal(first[2], second[2]), "평가 모드의 ddp(x) 다음에는 버퍼도 같습니다"
        assert torch.equal(second[2], first[1]), "그것은 rank 0의 버퍼입니다"
        off = (first[0] - one).norm() / (one - start).norm()
        apart, wrong = (first[1] - second[1]).abs().max(), (first[1] - alone[1].running_mean).abs().max()
        seen.append((off.item(), apart.item(), wrong.item()))
    return list(zip(*seen, strict=True))


HEADER = [
    "",
    "두 rank의 가중치",
    "큰 배치에서 벗어난 거리 ÷ 움직인 거리",
    "두 rank의 `running_mean`의 차이",
    "큰 배치의 `running_mean`과의 차이",
]
usual = against_alone(nn.BatchNorm1d)
show_table(
    HEADER, [["`nn.BatchNorm1d`", "같음", *(f"{min(column):.2g} ~ {max(column):.2g}" for column in usual)]]
)
assert min(usual[0]) > 0.02
assert min(usual[1]) > 0.005
assert min(usual[2]) > 0.003
reveal("05-12")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

그레이디언트는 합치니 가중치는 두 rank가 같습니다. 그러나 64개가 아니라 32개의 통계로 정규화했으므로 큰 배치와는 다릅니다. DDP는 순전파(forward pass)를 할 때 rank 0의 버퍼를 모두에게 복사하고, 그다음 rank마다 자기 배치로 한 번 더 바꿉니다. `no_sync()`로 누적할 때는 구간의 첫 순전파에서만 복사하므로 더 벌어집니다. 그래서 다섯 스텝 뒤의 `running_mean`은 마지막 한 번만큼 다릅니다. rank 0의 파일과 rank 1의 파일이 다르게 평가합니다. 쌓인 것은 rank 0의 데이터뿐입니다. 나머지 rank의 통계는 다음 순전파에서 덮여 사라집니다.

이어서 평가 모드로 `ddp(x)`를 부르면 또 복사하므로 모든 rank가 같아집니다. `ddp.module(x)`를 부르면 rank마다 다른 버퍼로 평가합니다.

</details>

통계까지 함께 내면 어떨까요? 평균과 제곱의 평균을 rank들이 더해서 나눕니다. `sum_over_ranks`는 `all_reduce`에 역전파를 붙인 것입니다.
"""


# %%
class SharedNorm(nn.BatchNorm1d):
    def forward(self, x):
        if not self.training:
            return super().forward(x)
        world = dist.get_world_size()
        mean, square = sum_over_ranks(torch.stack([x.mean(0), (x * x).mean(0)])) / world
        var, count = square - mean**2, world * len(x)
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(var * count / (count - 1), self.momentum)
        return (x - mean) / (var + self.eps).sqrt() * self.weight + self.bias


# %% tags=["folded"]
# 표와 확인: 같은 비교, 시드 6개
shared = against_alone(SharedNorm)
show_table(HEADER, [["`SharedNorm`", "같음", *(f"{max(column):.2g}까지" for column in shared)]])
assert max(shared[0]) < 1e-13
assert max(shared[1]) == 0
assert max(shared[2]) < 1e-14

# %% [markdown]
r"""
이제 가중치도 버퍼도 반올림 오차를 빼면 큰 배치와 같습니다. 통계를 지나는 그레이디언트까지 rank 사이를 오갔기 때문입니다. PyTorch의 `SyncBatchNorm`이 이 일을 합니다(GPU에서만 됩니다). 계층마다 집합 통신이 늘어나니, rank마다의 배치가 몇 개뿐일 때 쓸 만합니다. LayerNorm은 샘플 하나만 보므로 이런 일이 없습니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- rank마다 토큰과 마이크로 배치의 수가 달라도 큰 배치와 같은 업데이트를 합니다.
- DDP가 나누는 수를 알고, 손실에 무엇을 곱할지 정합니다.
- 배치 정규화의 버퍼가 rank마다 다르다는 것을 알고 확인합니다.

업데이트는 여기까지입니다. 쉬어 가기 좋은 곳입니다. [다음: 모든 rank의 정확도](5_metrics.ipynb)에서는 재는 일을 나눕니다.
"""
