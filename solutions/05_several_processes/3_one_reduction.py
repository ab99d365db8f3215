# %% [markdown]
r"""
# 구간마다 한 번만 합치기

DDP(`DistributedDataParallel`)는 역전파할 때마다 그레이디언트(gradient)를 합칩니다. 마이크로 배치 네 개를 모아 한 번 업데이트한다면 앞의 세 번은 합치지 않아도 됩니다. `ddp.no_sync()` 안에서는 합치지 않고 rank마다 `.grad`에 쌓아 둡니다.

**예측.** 구간이 둘이고 구간마다 마이크로 배치가 네 개입니다. 순전파는 그대로 두고, 마지막이 아닌 마이크로 배치의 `backward()`만 `no_sync()`로 감쌌습니다.

```python
loss = loss_fn(ddp(x), y) / 4
with nullcontext() if 마지막 else ddp.no_sync():
    loss.backward()
```

그레이디언트를 모두 몇 번 합칠까요? 가중치(weight)는 어떻게 될까요?

- a: 8번 합칩니다. 가중치는 큰 배치와 같습니다.
- b: 2번 합칩니다. 가중치는 큰 배치와 같습니다.
- c: 2번 합칩니다. 그러나 가중치가 rank마다 달라집니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 합친 횟수를 세는 누적
from contextlib import nullcontext

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import flat, loss_fn, make_batches, make_model, sgd
from grader.experiments.several_processes.seeds import SEEDS, run_seeds
from grader.experiments.several_processes.windows import (
    MAX_NORM,
    TwoPaths,
    count_reductions,
    joined_windows,
    two_windows,
    window_run,
)
from grader.plots import show_table

torch.set_num_threads(1)

# %% tags=["predict"]
predict("05-4")


# %%
def backward_only(rank, world, seed):
    ddp = DistributedDataParallel(make_model(seed))
    sizes = count_reductions(ddp)  # 합칠 때마다 바이트 수가 하나씩 쌓입니다
    opt = sgd(ddp.parameters())
    for window in two_windows(seed):
        opt.zero_grad()
        for number, (xb, yb) in enumerate(window, start=1):
            loss = loss_fn(ddp(xb[rank::world]), yb[rank::world]) / len(window)
            with nullcontext() if number == len(window) else ddp.no_sync():
                loss.backward()
        opt.step()
    return flat(ddp.parameters()), sizes


# %% tags=["folded"]
# 표와 확인: 합친 횟수와, 구간을 한 배치에 담은 한 프로세스와의 차이. 시드 6개, 프로세스 두 개
ways = {
    "`no_sync()` 없음": run_seeds(window_run, 0),
    "마지막만 빼고 순전파와 역전파를 `no_sync()` 안에": run_seeds(window_run, 3),
    "마지막만 빼고 `backward()`만 `no_sync()` 안에": run_seeds(backward_only),
    "모두 `no_sync()` 안에": run_seeds(window_run, 4),
}
rows, counts = [], {}
for way, runs in ways.items():
    counts[way] = {len(sizes) for ranks in runs for _, sizes in ranks}
    off = [
        (ranks[0][0] - joined_windows(seed)).abs().max().item()
        for seed, ranks in zip(SEEDS, runs, strict=True)
    ]
    apart = [(first[0] - second[0]).norm().item() for first, second in runs]
    rows.append([way, *counts[way], max(off), max(apart)])
    assert (max(off) < 1e-14) is (way != "모두 `no_sync()` 안에")
    assert (max(apart) == 0) is (way != "모두 `no_sync()` 안에")
    assert (min(apart) > 0.02) is (way == "모두 `no_sync()` 안에")
show_table(["", "합친 횟수", "큰 배치와의 차이 (최대)", "두 rank 사이의 거리 (최대)"], rows)
assert list(counts.values()) == [{8}, {2}, {8}, {0}]
reveal("05-4")

# %% [markdown]
r"""
## 1. 순전파에서 정해집니다

약 9분 · ★★☆

<details>
<summary>설명</summary>

DDP는 순전파(forward pass)를 할 때 「이번 역전파(backward pass)에서 합칠지」를 정해 둡니다. `no_sync()`는 그때 읽는 스위치를 끕니다. 역전파에 와서 끄면 이미 늦었습니다. 그러니 **순전파도 `no_sync()` 안에 있어야 합니다.**

셋째 줄의 프로그램은 가중치가 맞습니다. 손실도 같고 오류도 없습니다. 다른 것은 합친 횟수뿐이라 **세어야 보입니다.** 마지막까지 `no_sync()`에 넣은 넷째 줄은 반대입니다. 한 번도 합치지 않아 rank마다 다른 모델이 됩니다.

</details>

횟수는 통신 훅(communication hook)으로 셌습니다. `ddp.register_comm_hook`에 넘긴 함수를 DDP가 합칠 때마다 부릅니다. 큰 모델이면 그레이디언트를 여러 묶음(bucket)으로 나누어 합치므로 한 번 합칠 때 묶음의 수만큼 셉니다. 여기 모델은 작아서 묶음이 하나입니다.

왜 세 번 더 합쳐도 가중치가 같을까요? 합친 다음의 `.grad`에는 rank마다 같은 평균이 들어 있고, 다음 마이크로 배치는 그 위에 더해 다시 평균을 냅니다. 이미 같은 것의 평균은 그대로입니다. 그래서 결과는 맞고 통신만 낭비합니다. 얼마나 낭비하는지 70억 매개변수(parameter) 모델로 어림합니다.
"""

# %%
once = 7e9 * 4 / 1e9  # float32 그레이디언트 한 벌, GB
for micro_batches in [1, 4, 8]:
    print(
        f"마이크로 배치 {micro_batches}개: 합치는 그레이디언트가 매번이면 {once * micro_batches:.0f}GB, 한 번만이면 {once:.0f}GB"
    )

# %% tags=["folded"]
# 확인: 여기 모델에서도 매번 합치면 네 배를 주고받습니다
one_model = 8 * sum(p.numel() for p in make_model(0).parameters())  # float64라 8바이트입니다
sent = {way: {sum(sizes) for ranks in runs for _, sizes in ranks} for way, runs in ways.items()}
assert list(sent.values()) == [{8 * one_model}, {2 * one_model}, {8 * one_model}, {0}]
assert (once, 8 * once) == (28.0, 224.0)
print(f"구간 둘에 합친 바이트: {[sorted(seen)[0] for seen in sent.values()]}")

# %% [markdown]
r"""
## 2. 언제 클리핑할까요

약 7분 · ★★☆

클리핑(clipping)은 노름(norm)을 한도까지 줄이는 일입니다. 합친 다음에는 모든 rank의 `.grad`가 같으니 노름도 같고, rank끼리 더 주고받을 것이 없습니다. `clip_grad_norm_`을 마이크로 배치마다 부르는 코드를 봅니다.

```python
loss.backward()
clip_grad_norm_(ddp.parameters(), 0.2)  # 합치기 전의 마이크로 배치에서도 부릅니다
```

**예측.** 합치는 것은 구간의 마지막 한 번뿐입니다. 가중치는 어떻게 될까요?

- a: rank마다 노름이 달라 다르게 줄이므로, rank마다 다른 가중치가 됩니다.
- b: 마지막에 한 번 더 줄이므로, 한 번만 클리핑한 큰 배치와 같아집니다.
- c: rank끼리는 같지만 큰 배치와는 다릅니다.
"""

# %% tags=["predict"]
predict("05-5")

# %%
each_time = run_seeds(window_run, 3, "each")  # 마이크로 배치마다
at_the_end = run_seeds(window_run, 3, "end")  # 마지막 역전파 다음에 한 번

# %% tags=["folded"]
# 표와 확인: 클리핑한 큰 배치와의 거리, 시드 6개
rows = []
for way, runs in [("마이크로 배치마다", each_time), ("합친 다음 한 번", at_the_end)]:
    shares = []
    for seed, ranks in zip(SEEDS, runs, strict=True):
        one = joined_windows(seed, clip=True)
        way_length = (one - flat(make_model(seed).parameters())).norm()
        shares.append(((ranks[0].weights - one).norm() / way_length).item())
        assert torch.equal(ranks[0].weights, ranks[1].weights)
        assert way_length < 2 * 0.1 * MAX_NORM * 1.001, "두 구간 모두 한도까지 줄었습니다"
        assert way_length > 2 * 0.1 * MAX_NORM * 0.8
    rows.append([way, "같음", f"{min(shares):.1e} ~ {max(shares):.1e}"])
    assert (max(shares) < 1e-13) is (way == "합친 다음 한 번")
    assert (min(shares) > 0.03) is (way == "마이크로 배치마다")
show_table(["클리핑", "두 rank의 가중치", "큰 배치에서 벗어난 거리 ÷ 움직인 거리"], rows)
reveal("05-5")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

합치면 rank끼리는 같아집니다. 틀린 것을 합쳐도 같아집니다. **rank끼리 같다는 것은 바르다는 증거가 아닙니다.** [두 프로세스, 한 스텝](1_mean_of_gradients.ipynb)에서 한 것처럼 rank끼리 비교하면 합치지 않은 것만 드러납니다. 바른 것을 합쳤는지는 한 프로세스의 큰 배치와 비교해야 압니다.

</details>

### 연습. `ddp_accumulate`

약 20분 · ★★★

지우고, 마이크로 배치마다 순전파와 역전파를 하고, 마지막에만 합치고, 합친 것을 클리핑하고, 한 번 업데이트합니다. 채점기는 집합 통신을 세고, 두 구간 뒤의 가중치를 큰 배치와 비교합니다. 여기의 rank는 모두 같은 개수, 같은 크기의 마이크로 배치를 받습니다. 마이크로 배치가 몇 개인지 알아야 마지막을 압니다. 제너레이터라면 어떻게 알까요?
"""


# %% tags=["exercise:ddp_accumulate"]
def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    """이 rank의 마이크로 배치를 모아 모든 rank와 함께 한 번 업데이트하고, 이 rank의 손실의 평균을 float로 돌려줍니다.

    ddp: `DistributedDataParallel`로 감싼 모델입니다. `ddp(x)`, `ddp.no_sync()`, `ddp.module`을 쓸 수 있습니다.
    loss_fn(output, target): 배치의 평균 손실입니다.
    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. 마이크로 배치의 크기는 모두 같고, 개수는 모든 rank에서 같습니다.

    업데이트는 모든 rank의 마이크로 배치를 한 배치에 담았을 때와 같습니다.
    그레이디언트는 마지막 마이크로 배치에서 한 번만 합칩니다. 집합 통신은 구간마다 하나입니다.
    max_norm이 있으면 합친 그레이디언트를 한 번 클리핑합니다.
    부르기 전에 남아 있던 그레이디언트는 섞이지 않습니다.
    마이크로 배치를 하나씩 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    마이크로 배치가 없으면 업데이트하지 않고 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    batches = list(micro_batches)
    if not batches:
        raise ValueError("마이크로 배치가 하나도 없습니다")
    opt.zero_grad()
    mean_loss = 0.0
    for number, (x, y) in enumerate(batches, start=1):
        # 합칠지는 순전파에서 정해집니다. 그래서 순전파도 no_sync 안에 있어야 합니다
        with nullcontext() if number == len(batches) else ddp.no_sync():
            loss = loss_fn(ddp(x), y) / len(batches)
            loss.backward()
        mean_loss += loss.item()
    if max_norm is not None:
        clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    return mean_loss
    # END SOLUTION


# %% tags=["check"]
check(ddp_accumulate)

# %% [markdown]
r"""
통과했으면 카드 아래의 「현미경」을 누르거나, 새 셀에서 `from grader import microscope`를 한 다음 `microscope(ddp_accumulate)`를 실행해 보세요.

## 3. 쓰지 않은 매개변수

약 7분 · ★★☆

DDP는 모든 매개변수의 그레이디언트가 생기기를 기다립니다. 순전파에서 쓰지 않은 계층이 있으면 기다리던 것이 오지 않습니다.

**예측.** `__init__`에서 만들었지만 `forward`에서 쓰지 않는 계층이 있는 모델을 DDP로 감쌌습니다. 어디에서 오류가 날까요?

- a: 첫 번째 `loss.backward()`에서 납니다. 그레이디언트가 모자랍니다.
- b: 두 번째 `ddp(x)`에서 납니다.
- c: 나지 않습니다. 없는 그레이디언트는 0으로 칩니다.
"""

# %% tags=["predict"]
predict("05-6")


# %%
def with_unused(rank, world, seed, find):
    ddp = DistributedDataParallel(TwoPaths(seed), find_unused_parameters=find)
    opt, done = sgd(ddp.parameters()), []
    try:
        for xb, yb in make_batches(seed, 2):
            opt.zero_grad()
            loss = loss_fn(ddp(xb[rank::world]), yb[rank::world])
            done.append("순전파")
            loss.backward()
            done.append("역전파")
            opt.step()
            done.append("업데이트")
    except RuntimeError as error:
        done.append(str(error).split(" before")[0])
    return done, flat(ddp.parameters())


# %% tags=["folded"]
# 표와 확인: 어디까지 갔는지, 그때 두 rank의 가중치, 시드 6개
rows = []
for find in (False, True):
    runs = run_seeds(with_unused, find)
    done = runs[0][0][0]
    gaps = [(first[1] - second[1]).norm().item() for first, second in runs]
    rows.append([f"`find_unused_parameters={find}`", " → ".join(done), f"{min(gaps):.2g} ~ {max(gaps):.2g}"])
    assert all(rank[0] == done for ranks in runs for rank in ranks)
    if find:
        assert done == ["순전파", "역전파", "업데이트"] * 2
        assert max(gaps) == 0
    else:
        assert done[:3] == ["순전파", "역전파", "업데이트"]
        assert len(done) == 4
        assert done[3].startswith("Expected to have finished reduction")
        assert min(gaps) > 0.03
show_table(["", "두 rank 모두", "두 rank의 가중치 사이의 거리"], rows)
reveal("05-6")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

첫 역전파에서 DDP는 오지 않는 그레이디언트를 기다리지만, 역전파는 그냥 끝납니다. 다음 순전파를 준비할 때에야 지난번에 합치기를 끝내지 못했다는 것을 압니다. 그 사이에 `opt.step()`은 이미 **합치지 않은 그레이디언트로** rank마다 다르게 업데이트했습니다. 오류가 가리키는 줄은 원인보다 한 스텝(step) 뒤입니다.

쓰지 않는 계층이라면 지우거나 얼립니다. 위에서는 두 rank가 모두 그 계층을 쓰지 않았습니다. 한 rank만 쓰지 않으면 그 rank에는 같은 오류가 나고, 쓴 rank는 역전파에서 상대를 기다리며 멈춥니다. 배치에 따라 쓰거나 안 쓰는 계층이라면 `find_unused_parameters=True`를 줍니다. 스텝마다 계산 그래프를 훑어 쓰지 않은 것을 찾으므로 그만큼 일이 늘어납니다. 필요 없을 때 켜 두면 DDP가 경고합니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- DDP에서 구간마다 한 번만 합치고, 정말 한 번인지 셉니다.
- 클리핑을 합친 다음에 두고, 그 까닭을 말합니다.
- `Expected to have finished reduction`을 보면 한 스텝 앞의 순전파를 봅니다.

누적과 DDP는 여기서 끝납니다. 쉬어 가기 좋습니다. [다음: rank마다 토큰 수가 다르면](4_unequal_shares.ipynb)에서는 몫이 같다는 가정을 버립니다.
"""
