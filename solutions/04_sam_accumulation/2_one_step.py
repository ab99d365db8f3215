# %% [markdown]
r"""
# 한 스텝과 그 둘레

SAM은 `first_step()`으로 $w + e$에 올라가고 `second_step()`으로 돌아와 업데이트합니다. 그 사이에 부르는 쪽이 그레이디언트를 다시 구해야 하는데, 이미 구한 손실에 `backward()`를 한 번 더 부르는 것이 가장 짧아 보입니다. 될지 먼저 골라 보세요.

**예측.** `retain_graph=True`로 그래프를 남겨 두고, `first_step()` 다음에 **같은** `loss`에 `backward()`를 다시 부릅니다. 어떻게 될까요?

- a: 오류가 납니다.
- b: $g(w)$가 한 번 더 나옵니다. SGD와 같아집니다.
- c: $g(w + e)$가 나옵니다. 가중치가 바뀌었기 때문입니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 분류기와 실험용 SAM(VectorSAM: 모든 가중치를 벡터 하나로 다룹니다)
import math

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.digits import device, loss_fn, make_batches, make_model
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.two_passes import (
    SeparateGroups,
    SharedGroups,
    moved_at_zero_rate,
    rates_used,
    scaled_run,
)
from grader.experiments.sam_accumulation.vectors import apart, flat, gradient_at
from grader.plots import show_table

torch.set_num_threads(1)

# %% tags=["predict"]
predict("04-5")

# %%
model = make_model(seed=5)
sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
xb, yb = make_batches(seed=5, count=1)[0]
loss = loss_fn(model(xb), yb)
loss.backward(retain_graph=True)
sam.first_step(zero_grad=True)
try:
    loss.backward()
    message = "오류 없음"
except RuntimeError as error:
    message = str(error)
print(message.split(". ")[0].split(": [")[0])

# %% tags=["folded"]
# 확인: 나온 메시지
assert "inplace" in message
reveal("04-5")

# %% [markdown]
r"""
## 1. 순전파부터 다시

약 7분 · ★☆☆

PyTorch는 텐서를 제자리에서(in-place) 바꿀 때마다 판(version)의 번호를 올리고, 역전파할 때 번호가 달라졌으면 오류를 냅니다. 번호를 올리지 않는 방법도 있습니다. `p.data`에 쓰는 것입니다. `p.data.add_(e)`로 올라가는 SAM을 인터넷에서 볼 수 있습니다. 그러면 어떻게 되는지 재 봅니다.
"""


# %%
def reused_graph(seed, rho=0.05):
    """p.data로 올라간 다음 같은 손실로 다시 구한 그레이디언트가 g와 h에서 저마다 벗어난 거리를 ‖h − g‖로 나눕니다."""
    model, batch = make_model(seed), make_batches(seed, count=1)[0]
    w, g = flat(model.parameters()), gradient_at(model, flat(model.parameters()), make_batches(seed, count=1))
    loss = loss_fn(model(batch[0]), batch[1])
    loss.backward(retain_graph=True)
    for p in model.parameters():
        p.data.add_(rho * p.grad / g.norm())
    model.zero_grad()
    loss.backward()  # 오류가 나지 않습니다
    again = flat(p.grad for p in model.parameters())
    h = gradient_at(model, w + rho * g / g.norm(), [batch])
    return ((again - g).norm() / (h - g).norm()).item(), ((again - h).norm() / (h - g).norm()).item()


# %% tags=["folded"]
# 확인: 시드 12개에서 g와도 h와도 다릅니다
from_g, from_h = zip(*(reused_graph(seed) for seed in range(12)), strict=True)
print(
    f"g에서 벗어난 정도 {min(from_g):.2f} ~ {max(from_g):.2f}, h에서 벗어난 정도 {min(from_h):.2f} ~ {max(from_h):.2f}"
)
assert min(from_g) > 0.2
assert min(from_h) > 0.2

# %% [markdown]
r"""
오류는 없고, 나온 것은 $g$도 $h$도 아닙니다. 중간 계층의 값은 $w$에서 구한 것이고 가중치만 $w + e$이기 때문입니다. **판의 번호를 올리는 방법으로 고칠 때만 오류가 납니다.** `torch.no_grad()` 안의 `p.add_()`는 번호를 올립니다.

그래서 두 번째 그레이디언트는 순전파(forward pass)부터 다시 구합니다. 손실도 둘이 됩니다. 기록할 것은 **첫 번째**입니다. 두 번째는 일부러 나쁜 곳에서 잰 값이라, 검증(validation) 손실이나 다른 옵티마이저(optimizer)의 손실과 비교할 수 없습니다.

### 연습. `sam_step`

약 15분 · ★☆☆

그레이디언트를 지우고, 구하고, 올라가고, 다시 구하고, 돌아와 업데이트합니다. `first_step`과 `second_step`에 `zero_grad=True`를 주면 지우는 줄을 줄일 수 있습니다. 두 패스(pass) 사이에 지우지 않으면 $g + h$로 업데이트합니다.
"""


# %% tags=["exercise:sam_step"]
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    """미니 배치 하나로 SAM 업데이트를 한 번 하고, 옮기기 전의 w에서 잰 손실을 float로 돌려줍니다.

    sam: 연습 SAM과 같은 인터페이스입니다(first_step, second_step, zero_grad, param_groups).
    모드는 받은 그대로 둡니다.
    """
    # BEGIN SOLUTION
    sam.zero_grad()
    # 첫째: w에서 구한 그레이디언트로 올라갈 방향을 정합니다
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    # 둘째: w + e에서 순전파부터 다시 합니다
    perturbed_loss = loss_fn(model(xb), yb)
    perturbed_loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sam_step)

# %% [markdown]
r"""
통과했으면 카드 아래의 「현미경」을 누르거나 새 셀에서 `microscope(sam_step)`을 실행해 보세요. 가중치가 $w$에서 $w + e$로 올라갔다가 돌아와 업데이트되기까지, 줄마다 무엇이 바뀌는지 정답과 나란히 볼 수 있습니다.

## 2. 스케줄러: 어느 객체에 걸까요

약 8분 · ★★☆

스케줄러(scheduler)는 옵티마이저에 겁니다. SAM도 base도 `Optimizer`이므로 둘 가운데 하나를 골라야 합니다.

**예측.** SAM이 자기 `param_groups`를 따로 들고 있습니다. 스케줄러를 SAM에 겁니다. base 옵티마이저의 학습률(learning rate)은 어떻게 될까요?

- a: 그대로입니다.
- b: 함께 바뀝니다.
- c: 그룹이 서로 달라서 오류가 납니다.
"""

# %% tags=["predict"]
predict("04-11")

# %%
# 학습률 0.8에서 시작해 업데이트마다 반으로 줄이는 스케줄러로 세 번 업데이트합니다
scheduler_rows = {
    (name, attach_to): rates_used(kind, attach_to)
    for name, kind in [("따로", SeparateGroups), ("함께", SharedGroups)]
    for attach_to in ["SAM", "base"]
}

# %% tags=["folded"]
# 표와 확인: 그룹 둘 × 스케줄러를 건 곳 둘
show_table(
    ["매개변수 그룹", "스케줄러를 건 곳", "실제로 쓴 학습률", "경고"],
    [[*key, used, count] for key, (used, count) in scheduler_rows.items()],
)
assert scheduler_rows["따로", "SAM"][0] == [0.8, 0.8, 0.8]
assert all(used == [0.8, 0.4, 0.2] for key, (used, _) in scheduler_rows.items() if key != ("따로", "SAM"))
assert [count for _, count in scheduler_rows.values()] == [1, 0, 1, 0]
reveal("04-11")

# %% [markdown]
r"""
스케줄러는 자기에게 준 옵티마이저의 `param_groups`를 고치고, 실제로 스텝을 하는 것은 base 옵티마이저입니다. 그래서 연습 `SAM`에서 그룹을 같은 것으로 하라고 했습니다. 그룹을 함께 쓰면 어느 쪽에 걸어도 됩니다. 그래도 **base 옵티마이저에 거는 편**을 권합니다. SAM에 걸면 「`optimizer.step()`보다 먼저 불렀다」는 경고가 나옵니다. SAM은 `step()`이 아니라 `first_step()`과 `second_step()`을 부르기 때문입니다. `scheduler.step()`은 패스마다가 아니라 업데이트마다 한 번입니다.

## 3. 그레이디언트가 None인 매개변수

약 7분 · ★★☆

두 패스가 언제나 같은 매개변수(parameter)를 쓰지는 않습니다. 계층을 무작위로 건너뛰는 모델이라면 첫 번째 패스에서 쓴 계층을 두 번째 패스에서 건너뛸 수 있습니다.

**예측.** `p.grad`가 `None`이 아닌 것만 되돌리는 SAM이 있습니다. 계층 하나를 패스마다 절반의 확률로 건너뛰는 모델을 **학습률 0**으로 200번 업데이트합니다. 그 계층은 얼마나 움직일까요?

- a: 움직이지 않습니다. 학습률이 0입니다.
- b: $\rho$ 안에서만 움직입니다.
- c: $\rho$보다 멀리 움직입니다.
"""

# %% tags=["predict"]
predict("04-12")

# %%
drift = {
    "움직인 것을 모두 되돌림": moved_at_zero_rate(check_grad=False),
    "`p.grad`가 None이면 건너뜀": moved_at_zero_rate(check_grad=True),
}

# %% tags=["folded"]
# 표와 확인: 움직인 거리
show_table(["되돌리는 법 (학습률 0, 200번)", "움직인 거리 ÷ ρ"], [[k, f"{v:.2f}"] for k, v in drift.items()])
assert drift["움직인 것을 모두 되돌림"] == 0.0
assert drift["`p.grad`가 None이면 건너뜀"] > 2
reveal("04-12")

# %% [markdown]
r"""
[davda54/sam](https://github.com/davda54/sam)이 이렇게 되돌립니다. 같은 코드는 반대의 경우에도 틀립니다. 첫 번째 패스마다 `None`이던 매개변수에 두 번째 패스에서 처음으로 그레이디언트가 생기면, 적어 둔 값을 찾지 못해 `KeyError: 'old_p'`가 납니다(같은 오류를 만난 이슈: [davda54/sam#51](https://github.com/davda54/sam/issues/51)). 되돌릴 것은 `.grad`가 아니라 **적어 둔 목록**에서 찾습니다.

## 4. 스케일러

약 10분 · ★★★

float16이면 손실에 배율을 곱합니다. 두 패스에서는 어떻게 할까요?

| | 첫 번째 패스 | 두 번째 패스 |
|---|---|---|
| 역전파(backward pass) | `scaler.scale(loss).backward()` | `scaler.scale(loss).backward()` |
| 배율 되돌리기 | **하지 않습니다.** 방향만 쓰므로 배율이 지워집니다 | `scaler.unscale_(opt)` |
| 움직이기 | 올라갑니다 | **되돌린 다음** `scaler.step(opt)`, `scaler.update()` |

`unscale_`을 두 패스에서 모두 부르면 「이미 불렀다」는 `RuntimeError`가 납니다. 업데이트 한 번에 한 번만 부를 수 있습니다.

남는 문제는 오버플로(overflow)입니다. 첫 번째 패스의 그레이디언트에 inf가 있으면 올라간 자리의 가중치(weight)도 쓸 수 없는 값이 됩니다.

**예측.** 첫 번째 패스가 넘쳤습니다. 위의 표대로 계속하면, 되돌릴 때 (1) 적어 둔 값을 복사하는 구현과 (2) $e$를 빼는 구현의 가중치는 어떻게 될까요?

- a: 둘 다 원래대로 돌아옵니다. 스케일러가 스텝(step)을 건너뜁니다.
- b: 복사는 돌아오고, 빼기는 NaN으로 남습니다.
- c: 둘 다 NaN으로 남습니다.
"""

# %% tags=["predict"]
predict("04-10")

# %%
# float16, 일부러 넘치게 큰 배율로 구간 40개를 학습합니다. restore는 돌아갈 가중치를 구합니다
copying = scaled_run(restore=lambda w, climbed, e: w)
subtracting = scaled_run(restore=lambda w, climbed, e: climbed - e)

# %% tags=["folded"]
# 표와 확인: 넘친 구간과 학습 손실
show_table(
    ["되돌리는 법", "넘친 구간 (40개 가운데)", "마지막 배율", "학습 손실"],
    [
        [name, run.overflowed, f"{run.scale:g}", run.loss]
        for name, run in [("복사", copying), ("빼기", subtracting)]
    ],
)
assert 1 <= copying.overflowed <= 15
assert copying.loss < 1.2
assert math.isnan(subtracting.loss)
assert subtracting.overflowed == 40
reveal("04-10")

# 배율이 정말 지워지는지: 배율이 다른 두 그레이디언트로 구한 e가 같은지 봅니다
model = make_model(seed=9)
g = gradient_at(model, flat(model.parameters()), make_batches(9, 4))
assert apart(0.05 * g / g.norm(), 0.05 * (65536 * g) / (65536 * g).norm()) < 1e-15

# %% [markdown]
r"""
첫 번째 그레이디언트에 inf가 있으면 그 성분의 $e$는 $\infty / \infty$, 곧 NaN이고, 올라간 자리의 가중치도 NaN입니다. 그레이디언트에 NaN까지 섞이면 노름이 NaN이라 가중치가 모두 NaN이 됩니다. 복사로 되돌리는 구현은 넘친 구간에서 순전파와 역전파를 헛되이 하고, 스텝을 건너뛰고, 배율을 낮추고, 다음 구간으로 갑니다. 따로 처리할 것이 없습니다. 빼는 구현은 첫 구간에서 가중치를 모두 잃고 다시는 돌아오지 못합니다.

## 5. 버그 찾기: SAM 객체를 통째로 넘기기

약 5분 · ★★☆

SAM에 `step()`을 붙여 스케일러에 통째로 넘기는 코드입니다. 코드는 새로 썼습니다. 읽고, 고른 다음, 실행하세요. **두 번째** 패스가 넘쳤습니다. 이 함수가 끝났을 때 가중치는 어디에 있을까요?

- a: $w$
- b: $w + e$
- c: NaN
"""


# %% tags=["find-the-bug"]
def scaled_step(model, sam, scaler, first_batch, second_batch):
    sam.step = lambda: sam.second_step(zero_grad=True)  # scaler.step()이 부를 것입니다
    for batch in [first_batch, second_batch]:
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(batch[0]), batch[1])
        scaler.scale(loss).backward()
        if batch is first_batch:
            sam.first_step(zero_grad=True)
    scaler.step(sam)
    scaler.update()


# %% tags=["predict"]
predict("04-bug3")

# %%
model = make_model(seed=13).float()
before = flat(model.parameters())
scaler = torch.amp.GradScaler(device.type, init_scale=2.0**10)
xb, yb = make_batches(seed=13, count=1)[0]
sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
sam.param_groups = sam.opt.param_groups  # 스케일러가 inf를 찾는 곳입니다
scaled_step(model, sam, scaler, (xb.float(), yb), (xb.float() * 1e6, yb))  # 16비트로 바꾸면 inf가 됩니다
left = (flat(model.parameters()) - before).norm().item()
print(f"w에서 벗어난 거리 ÷ ρ: {left / 0.05:.3f}, 배율 {scaler.get_scale():.0f}")

# %% tags=["folded"]
# 확인: 벗어난 거리와 배율
assert abs(left / 0.05 - 1) < 1e-2  # float32 가중치에 담은 w + e입니다
assert scaler.get_scale() == 2.0**9
reveal("04-bug3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

넘치면 스케일러는 `sam.step()`을 **부르지 않습니다.** 스텝을 건너뛰는 것은 옳습니다. 그 안에 있던 되돌리기까지 건너뛴 것이 잘못입니다. 넘칠 때마다 가중치가 오르막으로 $\rho$만큼 밀려나 거기서 학습을 이어 갑니다. 되돌리기를 스케일러 밖에서 먼저 하고, `scaler.step()`에는 base 옵티마이저를 넘깁니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- SAM 업데이트 한 번을 쓰고, 어느 손실을 기록할지 압니다.
- 스케줄러와 스케일러를 어느 객체에, 어느 패스에 둘지 까닭과 함께 정합니다.

한 스텝은 끝났습니다. 여기서 쉬어도 좋습니다. [다음: 두 패스 모두 구간을 전부](3_accumulate.ipynb)에서는 첫 노트북의 틀린 누적을 고칩니다.
"""
