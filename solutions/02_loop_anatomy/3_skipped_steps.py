# %% [markdown]
r"""
# 건너뛴 스텝: 배율이 넘칠 때

float16의 스케일러(`torch.amp.GradScaler`)는 손실(loss)에 큰 수를 곱해 작은 그레이디언트(gradient)를 살립니다. 그 배율이 너무 크면 이번에는 오버플로(overflow)가 나고, 스케일러는 그 스텝(step)을 건너뜁니다.
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import math
import warnings
from statistics import median

import torch
from matplotlib import pyplot as plt
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.digits import (
    apart,
    device,
    flat,
    loss_fn,
    make_batches,
    make_model,
    on_cpu,
    x_train,
)
from grader.experiments.loop_anatomy.precision import first_not_finite, overflow_run, scaler_log, steps_called
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 배율을 너무 크게 잡으면

약 12분 · ★★★

**예측 1.** 배율을 일부러 너무 크게 잡아 처음 몇 스텝의 그레이디언트가 inf입니다. 루프는 스텝마다 `scheduler.step()`도 부릅니다. 그 몇 스텝 동안 매개변수(parameter)와 학습률(learning rate)은 어떻게 될까요?

- a: 매개변수는 그대로이고, 학습률은 바뀝니다.
- b: 둘 다 그대로입니다. 그 스텝은 없었던 것이 됩니다.
- c: 매개변수가 NaN이 되고, 학습률은 바뀝니다.
"""

# %% tags=["predict"]
predict("02-5")


# %%
def float16_step(model, opt, scaler, scheduler, xb, yb):
    opt.zero_grad()
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(xb), yb)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    scheduler.step()


# %% tags=["folded"]
# 그림과 확인: 배율 2²⁴에서 시작해 배율, 움직인 거리, 학습률을 스텝마다 그립니다
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    scales, rates, moves = overflow_run(float16_step)
_, patient_rates, _ = overflow_run(float16_step, wait_for_update=True)
skipped = [step for step, move in enumerate(moves) if move == 0]
first = next(step for step, move in enumerate(moves) if move > 0)
print("건너뛴 스텝:", skipped)
print(f"첫 업데이트의 학습률: {rates[first]:.4f}, 기다린 루프에서는 {patient_rates[first]:.4f}")
print("경고:", next(str(w.message) for w in caught if "lr_scheduler" in str(w.message)).split(". ")[0])

figure, axes = plt.subplots(3, 1, figsize=(7.2, 6), sharex=True)
axes[0].step(range(len(scales)), [math.log2(scale) for scale in scales], where="mid")
axes[0].set(ylabel="배율 (2의 몇 제곱)")
axes[1].plot([move or math.nan for move in moves], "o", markersize=4)
axes[1].plot(skipped, [0] * len(skipped), "x", color=COLORS["wrong"], markersize=8)
axes[1].text(9, 0.03, "건너뛴 스텝", color=COLORS["wrong"], ha="center", va="bottom")
axes[1].set(ylabel="움직인 거리")
axes[2].plot(rates, label="스텝마다 scheduler.step()")
axes[2].plot(patient_rates, "--", color=COLORS["third"], label="업데이트했을 때만")
axes[2].set(ylabel="학습률", xlabel="스텝")
axes[2].legend(loc="lower right")
show(
    figure,
    "위: 배율이 2의 24제곱에서 계단처럼 내려오다 멈추고, 12스텝 동안 괜찮으면 한 칸 올라갔다가 다시 내려옵니다. "
    "가운데: 배율이 내려간 스텝마다 움직인 거리가 0입니다. "
    "아래: 건너뛰는 동안에도 학습률은 계획대로 올라가고, 업데이트했을 때만 옮긴 학습률은 그만큼 늦게 올라갑니다.",
)
assert skipped[:3] == [0, 1, 2]
assert all(scales[step + 1] == scales[step] / 2 for step in skipped if step + 1 < len(scales))
assert rates[:8] == [0.5 * (k + 1) / 8 for k in range(8)]  # 한 스텝도 기다리지 않았습니다
assert rates[first] > 3 * patient_rates[first]
assert all(math.isfinite(move) for move in moves)
# 넘친 스텝에서 step()을 부른 횟수와, 매개변수가 움직였는지
assert steps_called(fused=False) == (0, False)
assert steps_called(fused=True) == (1, False)
reveal("02-5")

# %% [markdown]
r"""
`scaler.step(opt)`은 그레이디언트에 inf나 NaN이 없으면 `opt.step()`을 부르고, 있으면 매개변수를 그대로 둡니다. 보통은 `opt.step()`을 부르지 않는 것이고, `fused=True`인 옵티마이저(optimizer)는 부르되 안에서 업데이트하지 않습니다. `scaler.update()`는 그때 배율을 절반으로 낮춥니다. 한동안 괜찮았으면 두 배로 올립니다.

배율이 맞는 값으로 내려오기까지 몇 스텝은 버립니다. 그 뒤로도 배율은 한동안 괜찮으면 올라가 보고, 넘치면 한 스텝을 버리고 내려옵니다. 기본값은 2,000스텝마다이고, 여기서는 잘 보이도록 12스텝으로 줄였습니다. **건너뛴 스텝은 고장이 아니라 이 방법의 일부입니다.**

다만 건너뛰는 것은 업데이트뿐이고, 학습률은 그동안 계획대로 바뀝니다. 워밍업(warmup, 처음에 학습률을 올리는 구간)의 앞부분을 통째로 잃었습니다. 경고 하나가 나오지만 첫 스텝을 건너뛰었을 때뿐이고, `fused=True`이면 그마저 나오지 않습니다. 수천 스텝 가운데 몇 번이면 무시해도 됩니다. 신경 쓰이면 그림의 점선처럼 배율이 줄지 않았을 때만 `scheduler.step()`을 부릅니다.

그러면 배율이 작아진 것은 나쁜 소식일까요? 세 학습을 비교합니다. 보통 학습, 손실에 1,000만을 곱한 학습, 그리고 데이터를 읽는 곳에 버그가 있어 입력이 모두 NaN인 학습입니다. `scaler_log`는 마지막 배율, 건너뛴 스텝의 번호, 검증 정확도를 돌려줍니다.
"""

# %%
scaler_logs = {
    "보통 (180스텝)": [scaler_log(seed) for seed in range(6)],
    "손실 × 1,000만 (180스텝)": [scaler_log(seed, factor=1e7) for seed in range(6)],
    "입력이 모두 NaN (40스텝)": [scaler_log(seed, spoil=math.nan, steps=40) for seed in range(6)],
}

# %% tags=["folded"]
# 표와 확인: 시드 6개의 중앙값을 보이고, 모든 시드에서 확인합니다
show_table(
    ["학습 (시드 6개의 중앙값)", "마지막 배율", "건너뛴 스텝", "검증 정확도"],
    [
        [
            name,
            f"{median(scale for scale, _, _ in logs):.1e}",
            f"{median(len(skipped) for _, skipped, _ in logs):.0f}",
            f"{median(score for _, _, score in logs):.1%}",
        ]
        for name, logs in scaler_logs.items()
    ],
)
ordinary, magnified, poisoned = scaler_logs.values()
assert torch.amp.GradScaler(device.type).get_growth_interval() == 2000
assert all(scale == 65536 and not skipped for scale, skipped, _ in ordinary)
# 배율이 1보다 한참 작지만, 처음 30스텝 안에 맞는 값을 찾고는 잘 학습합니다
assert all(scale < 0.1 and len(skipped) > 15 and max(skipped) < 30 for scale, skipped, _ in magnified)
assert all(abs(ours[2] - theirs[2]) < 0.05 for ours, theirs in zip(magnified, ordinary, strict=True))
assert all(skipped == list(range(40)) for _, skipped, _ in poisoned)
assert all(scale == 65536 / 2**40 for scale, _, _ in poisoned)

# %% [markdown]
r"""
손실이 1,000만 배이면 맞는 배율은 1보다 한참 작습니다. 그 값을 찾느라 처음 20스텝 남짓을 버렸을 뿐, 학습 결과는 보통 때와 다르지 않습니다. 입력이 NaN인 학습은 모든 스텝을 건너뛰는데 오류는 나지 않습니다. **배율이 작다는 것만으로는 둘을 구별하지 못합니다.** 그래서 float16으로 학습할 때는 손실과 함께 **건너뛴 스텝의 수**(배율이 줄어든 횟수)를 기록합니다. 처음에 잠깐, 그다음은 2,000스텝에 한 번쯤이면 정상입니다. 쉬지 않고 늘면 학습이 아니라 건너뛰기를 하고 있는 것입니다.

쉬지 않고 는다면 처음으로 inf나 NaN이 나온 계층(layer)을 찾습니다. 모듈마다 출력을 보는 훅(hook)을 걸고 순전파(forward pass)를 한 번 하면 됩니다. 역전파(backward pass)에서 나온다면 `torch.autograd.set_detect_anomaly(True)`가 그 연산을 만든 순전파의 줄을 알려 줍니다.
"""

# %%
broken = make_model(seed=0)
with torch.no_grad():
    broken[3].weight[0, 0] = math.inf
print(f"보통 입력: {first_not_finite(broken, x_train[:4])}번 계층에서 처음 나왔습니다")
print(f"NaN 입력: {first_not_finite(broken, x_train[:4] * math.nan)}번 계층에서 처음 나왔습니다")

# %% tags=["folded"]
# 확인: 고장 난 계층의 번호와, 입력이 NaN이면 첫 계층이라는 것
assert first_not_finite(broken, x_train[:4]) == "3"
assert first_not_finite(broken, x_train[:4] * math.nan) == "0"
assert first_not_finite(make_model(seed=0), x_train[:4]) is None

# %% [markdown]
r"""
## 2. 스케일러 아래의 그레이디언트 누적

약 10분 · ★★☆

그레이디언트 누적(gradient accumulation)에서는 마이크로 배치(micro-batch) 여러 개를 한 구간(window)으로 묶어 한 번 업데이트합니다. 스케일러를 쓰면 어떻게 될까요?

**예측 2.** 마이크로 배치 네 개를 차례로 역전파하고, 구간의 끝에서 `scaler.step(opt)`을 부릅니다. 네 개 가운데 셋째 하나만 float16에서 넘칩니다. 이 구간은 어떻게 될까요?

- a: 구간 전체를 건너뜁니다.
- b: 넘친 것만 버리고 나머지 셋으로 업데이트합니다.
- c: `scaler.step()`이 오류를 냅니다.
"""

# %% tags=["predict"]
predict("02-8")

# %% tags=["folded"]
# 준비: 모델, 배율 2¹²의 스케일러, 셋째가 넘치는 구간
model = make_model(seed=6)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
scaler = torch.amp.GradScaler(device.type, init_scale=2.0**12)
window = make_batches(seed=6, batch_size=16)[:4]
window[2] = (window[2][0] * 1e6, window[2][1])  # 16비트로 바꾸면 inf가 됩니다
before = flat(model.parameters())

# %%
for xb, yb in window:
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(xb), yb) / len(window)
    scaler.scale(loss).backward()
    finite = [torch.isfinite(p.grad).all().item() for p in model.parameters()]
    print(f"손실 {loss.item():.3f}, 쌓인 그레이디언트가 모두 유한한지: {'예' if all(finite) else '아니요'}")
scaler.unscale_(opt)
try:
    scaler.unscale_(opt)
    twice = None
except RuntimeError as error:
    twice = str(error)
scaler.step(opt)
scaler.update()

# %% tags=["folded"]
# 확인: 움직인 거리와 배율, 그리고 unscale_을 두 번 부르면 어떻게 되는지
print(f"움직인 거리 {apart(before, flat(model.parameters()))}, 배율 {scaler.get_scale():.0f}")
print("unscale_을 두 번 부르면:", twice)
assert torch.equal(before, flat(model.parameters()))
assert scaler.get_scale() == 2.0**11
assert twice is not None
reveal("02-8")

# %% [markdown]
r"""
마이크로 배치 넷은 `p.grad` 하나에 쌓입니다. inf나 NaN에는 무엇을 더해도 유한한 값으로 돌아오지 않습니다. 마이크로 배치 하나 때문에 넷을 모두 버립니다.

쌓이는 동안 배율이 바뀌면 서로 다른 단위를 더하게 됩니다. 그래서 구간마다 한 번 할 일과 마이크로 배치마다 할 일을 나눕니다.

| 마이크로 배치마다 | 구간이 끝나고 한 번 |
|---|---|
| autocast 순전파, 손실 ÷ 개수, `scaler.scale(loss).backward()` | `unscale_` → 클리핑 → `step` → `update` |

`unscale_`을 마이크로 배치마다 부르면 두 번째에서 `RuntimeError`가 납니다. 이미 배율로 나눈 그레이디언트에 배율이 곱해진 것을 더하는 사고를 PyTorch가 막아 주는 것입니다.

### 연습 3. `amp_accumulate`

약 30분 · ★★★

마이크로 배치 리스트 전체를 한 구간으로 보고 한 번 업데이트합니다. 손실은 마이크로 배치의 수로 나누고, 구간의 평균 손실을 돌려줍니다. 마이크로 배치의 크기는 모두 같습니다. `dtype`, `scaler`, `max_norm`의 뜻은 [클리핑과 16비트](2_clipping_and_16_bits.ipynb)의 `amp_step`과 같습니다.
"""


# %% tags=["exercise:amp_accumulate"]
def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    """micro_batches 전체를 한 구간으로 보고 혼합 정밀도로 한 번 업데이트합니다. 구간의 평균 손실을 float로 돌려줍니다.

    micro_batches: 크기가 같은 (xb, yb)의 리스트이고, 비어 있지 않습니다.
    dtype, scaler, max_norm은 amp_step과 같고, 배율을 되돌리는 것도 클리핑도 구간에 한 번입니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    window_loss = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            logits = model(xb)
            loss = loss_fn(logits, yb) / len(micro_batches)
        # 구간이 끝날 때까지 같은 배율로 쌓입니다
        scaler.scale(loss).backward()
        window_loss += loss.item()
    # 여기서부터는 구간에 한 번입니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return window_loss
    # END SOLUTION


# %% tags=["check"]
check(amp_accumulate)

# %% [markdown]
r"""
## 3. 버그 찾기: 모두 갖춘 루프

약 8분 · ★★★

「bfloat16과 스케일러를 모두 갖춘 루프입니다.」 **읽고, 고른 다음, 실행하세요.**
"""


# %% tags=["find-the-bug"]
def loop_1(model, opt, batches, clear=True):
    scaler = torch.amp.GradScaler(device.type)
    for xb, yb in batches:
        if clear:
            opt.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()


# %% [markdown]
r"""
**예측 3.** 스케일러에 관한 줄을 모두 빼고 `loss.backward()`, `opt.step()`으로 바꾸면 가중치는 어떻게 될까요?

- a: 비트까지 같습니다.
- b: 언더플로 때문에 나빠집니다.
- c: 반올림 때문에 조금 다릅니다.
"""

# %% tags=["predict"]
predict("02-bug1")


# %%
def loop_1_without(model, opt, batches, clear=True):
    for xb, yb in batches:
        if clear:
            opt.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = loss_fn(model(xb), yb)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


# %% tags=["folded"]
# 표와 확인: 스케일러를 뺀 루프, 그리고 zero_grad()까지 빠뜨린 두 루프
def weights_after(loop, **settings):
    model = make_model(seed=20)
    loop(model, torch.optim.SGD(model.parameters(), lr=0.3), make_batches(seed=20, epochs=2), **settings)
    return flat(model.parameters())


reference = weights_after(loop_1_without)
difference = {
    "스케일러를 뺌": apart(reference, weights_after(loop_1)),
    "스케일러 없이 `zero_grad()`를 빠뜨림": apart(reference, weights_after(loop_1_without, clear=False)),
    "스케일러를 두고 `zero_grad()`를 빠뜨림": apart(reference, weights_after(loop_1, clear=False)),
}
show_table(
    ["바꾼 것", "바른 루프와의 최대 차이"], [[name, f"{value:.1e}"] for name, value in difference.items()]
)
without, hidden, masked = difference.values()
assert without == 0.0 if on_cpu else without < 1e-2
if on_cpu:
    assert hidden > 0.1
    assert 0 < masked < hidden / 50
reveal("02-bug1", measured="a" if without == 0.0 else "c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

배율이 2의 거듭제곱이라 곱했다가 나누면 비트까지 똑같이 돌아옵니다. 여기서 스케일러는 쓸모없을 뿐 아니라 해롭습니다. 표의 아래 두 줄을 보세요. `zero_grad()`를 빠뜨린 버그는 스케일러가 없으면 크게 드러납니다. 스케일러가 있으면 남아 있던 그레이디언트가 다음 스텝의 `unscale_`에서 65536으로 한 번 더 나뉘어 거의 사라집니다. **스케일러가 버그를 숨깁니다.** 그래서 이 강의의 채점기는 지우기를 스케일러 없이도 확인합니다.

bfloat16이면 스케일러를 빼거나 `enabled=False`로 둡니다.

</details>

## 이제 할 수 있는 것

- 건너뛴 스텝에서 업데이트만 멈추고 학습률은 계속 바뀐다는 것을 알고, 그 수를 기록합니다.
- 처음으로 NaN이 나온 계층을 찾습니다.
- 스케일러 아래에서 마이크로 배치마다 할 일과 구간에 한 번 할 일을 나눕니다.

한 스텝의 안쪽은 여기까지입니다. 쉬고 나서, 스텝마다 바뀌는 학습률로 넘어갑니다.

[다음: 스케줄](4_schedules.ipynb)
"""
