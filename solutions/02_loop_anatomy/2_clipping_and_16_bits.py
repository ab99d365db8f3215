# %% [markdown]
r"""
# 클리핑과 16비트: 한 스텝을 지키는 두 부품

데이터에는 가끔 튀는 배치(outlier batch)가 섞이고, 16비트로 계산하면 작은 그레이디언트(gradient)가 사라집니다. 이 노트북에서는 둘을 막는 부품을 하나씩 재 보고, 혼합 정밀도(mixed precision)의 한 스텝을 씁니다.
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import math
import warnings
from statistics import median

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.digits import device, loss_fn, make_batches, make_model, on_cpu
from grader.experiments.loop_anatomy.precision import (
    OPTIMIZERS,
    clipped_run,
    deep_model,
    gradients,
    half_precision_loss,
    lost_to_float16,
    matmul_milliseconds,
    relative_errors,
    rogue_run,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 튀는 배치 하나

약 10분 · ★★☆

**예측 1.** 120스텝(step) 가운데 스텝 60(0부터 셉니다)의 배치 하나만 정규화를 빠뜨려 픽셀 값의 범위가 0에서 1이 아니라 0에서 255입니다. 나머지 119스텝의 배치는 모두 정상입니다. 모멘텀(momentum, 지난 걸음을 이어 가는 것)이 있는 SGD로 튀는 배치를 본 다음, 정상 배치로 59스텝을 더 학습합니다. 시드를 바꾸어 12번 하면 검증 손실(validation loss, 학습에 쓰지 않은 데이터의 손실)은 대개 어떻게 될까요?

- a: 잠깐 튀었다가, 59스텝 안에 전보다 낮아집니다.
- b: 59스텝 뒤에도 전보다 높습니다.
- c: NaN이 되어 돌아오지 않습니다.
"""

# %% tags=["predict"]
predict("02-6")


# %%
def update(model, opt, loss, max_norm):
    opt.zero_grad()
    loss.backward()
    norm = clip_grad_norm_(model.parameters(), max_norm)  # inf이면 재기만 합니다
    opt.step()
    return norm.item()


unclipped = [rogue_run(update, math.inf, seed) for seed in range(12)]
clipped = [rogue_run(update, 1.0, seed) for seed in range(12)]
norms = unclipped[0][1]
print(f"그레이디언트 노름: 보통 {median(norms):.2f}, 튀는 배치 {norms[60]:.0f}")

# %% tags=["folded"]
# 그림과 확인: 시드 12개의 검증 손실
figure, axis = plt.subplots()
for runs, color, style, label in [
    (unclipped, COLORS["wrong"], "--", "클리핑 없음"),
    (clipped, COLORS["right"], "-", "max_norm = 1.0"),
]:
    for seed, (curve, _) in enumerate(runs):
        axis.plot(curve, style, color=color, linewidth=1.2, label=label if seed == 0 else None)
axis.set(title="튀는 배치 하나 (60번째 스텝)", xlabel="스텝", ylabel="검증 손실 (로그 눈금)", yscale="log")
axis.legend(loc="upper left")
show(
    figure,
    "시드 12개의 검증 손실. 60번째 스텝 전까지 모두 내려옵니다. 클리핑이 없으면 그 스텝 뒤에 수십에서 수백까지 "
    "치솟고, 마지막 스텝에도 하나만 빼고 튀기 전보다 높습니다. 클리핑이 있으면 아무 일도 없었던 것처럼 계속 내려갑니다.",
)
setbacks = [wild[-1] / wild[59] for wild, _ in unclipped]
worse = sum(ratio > 1 for ratio in setbacks)
print(
    f"클리핑 없음: 시드 12개 가운데 {worse}개가 59스텝 뒤에도 튀기 전보다 높습니다. 중앙값은 {median(setbacks):.1f}배입니다"
)
for (wild, norms), (calm, _) in zip(unclipped, clipped, strict=True):
    assert max(wild[60:]) > 20
    assert all(math.isfinite(loss) for loss in wild)
    assert norms[60] > 80 * median(norms)
    assert max(calm[60:]) < 1.3 * calm[59]
    assert calm[-1] < 0.4
assert worse >= 10
assert median(setbacks) > 2
reveal("02-6", measured="b" if median(setbacks) > 1 else "a")

# %% [markdown]
r"""
그레이디언트 클리핑(gradient clipping)은 모든 그레이디언트를 이어 붙인 벡터의 노름(norm)이 `max_norm`보다 크면 전체에 같은 수 `max_norm / (노름 + 1e-6)`을 곱해 줄입니다. 방향은 그대로이고 길이만 줄어듭니다. 한 배치가 밀 수 있는 거리를 이렇게 막아 두면 튀는 배치는 지나갑니다.

모멘텀 SGD는 그레이디언트의 크기만큼 움직이니 튀는 배치가 곧 큰 걸음입니다. 이 레슨에서 조립할 `train`은 AdamW를 씁니다. AdamW에서도 클리핑할 까닭이 있을까요? 같은 실험을 학습률 0.003의 AdamW로 해 봅니다.
"""


# %%
def adamw(params):
    return torch.optim.AdamW(params, lr=0.003)


adam_runs = {
    "클리핑 없음": [rogue_run(update, math.inf, seed, adamw)[0] for seed in range(6)],
    "max_norm = 1.0": [rogue_run(update, 1.0, seed, adamw)[0] for seed in range(6)],
}

# %% tags=["folded"]
# 표와 확인: AdamW, 시드 6개의 중앙값. 튀기 직전의 검증 손실로 나눈 값입니다
show_table(
    ["AdamW 0.003", "튄 뒤 가장 높은 손실", "59스텝 뒤의 손실"],
    [
        [
            name,
            f"{median(max(curve[60:]) / curve[59] for curve in curves):.2f}배",
            f"{median(curve[-1] / curve[59] for curve in curves):.2f}배",
        ]
        for name, curves in adam_runs.items()
    ],
)
for free, calm in zip(*adam_runs.values(), strict=True):
    assert max(free[60:]) < 1.5 * free[59]
    assert free[-1] < free[59]
    assert calm[-1] < 0.8 * free[-1]
# 노름이 max_norm과 같아도 1e-6 때문에 아주 조금 줄어듭니다
edge = nn.Parameter(torch.zeros(2))
edge.grad = torch.tensor([3.0, 4.0])
clip_grad_norm_([edge], 5.0)
assert 5.0 - 1e-5 < edge.grad.norm().item() < 5.0

# %% [markdown]
r"""
AdamW는 그레이디언트를 그 크기로 나누므로 거의 튀지 않습니다. 59스텝 뒤에는 시드 6개 모두 튀기 전보다 낮습니다. 대신 그레이디언트 제곱의 이동 평균이 부풀어, 그 뒤로 한동안 조금씩만 움직입니다. 클리핑한 쪽이 6개 모두 더 많이 배웠습니다.

## 2. 16비트로 계산하고 32비트로 업데이트합니다

약 15분 · ★★★

16비트 텐서는 메모리를 절반만 쓰고, 요즘 GPU는 16비트 행렬 곱을 훨씬 빨리 합니다. 대신 나타낼 수 있는 수가 줄어듭니다. 16비트 자료형은 두 가지입니다. 하나는 범위를, 하나는 정밀도를 더 많이 내놓았습니다.
"""

# %% tags=["folded"]
# 표와 확인: 세 자료형의 범위와 간격입니다. GPU가 있으면 행렬 곱의 시간도 잽니다
rows = []
for dtype in [torch.float32, torch.float16, torch.bfloat16]:
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps  # 비정규 수까지 셉니다
    rows.append([dtype, f"{info.max:.1e}", f"{smallest:.1e}", f"{info.eps:.1e}"])
show_table(["자료형", "가장 큰 값", "0이 아닌 가장 작은 값", "1 다음 수와의 간격"], rows)
assert torch.finfo(torch.float16).max == 65504
assert torch.finfo(torch.bfloat16).eps == 8 * torch.finfo(torch.float16).eps
assert torch.bfloat16.itemsize * 2 == torch.float32.itemsize
if not on_cpu:
    for dtype in [torch.float32, torch.bfloat16]:
        print(f"4096 × 4096 행렬 곱, {dtype}: {matmul_milliseconds(dtype):.2f} ms")

# %%
model = make_model(seed=3)
xb, yb = make_batches(seed=3)[0]
with torch.autocast(device.type, torch.bfloat16):
    logits = model(xb)
    loss = loss_fn(logits, yb)
loss.backward()
kinds = {"가중치": model[0].weight, "로짓": logits, "손실": loss, "그레이디언트": model[0].weight.grad}
print({name: str(tensor.dtype).removeprefix("torch.") for name, tensor in kinds.items()})

# %% tags=["folded"]
# 확인: 로짓만 16비트입니다. 가중치까지 16비트로 바꾸면 작은 업데이트가 사라집니다
assert logits.dtype is torch.bfloat16
assert {kinds[name].dtype for name in ("가중치", "손실", "그레이디언트")} == {torch.float32}
assert torch.ones(1).half() - 1e-4 == 1.0

# %% [markdown]
r"""
float16은 **정밀하지만 좁고**, bfloat16은 **거칠지만 넓습니다**. bfloat16의 범위는 float32와 거의 같습니다.

`torch.autocast` 블록은 가중치를 바꾸지 않습니다. 행렬 곱을 할 때 16비트 복사본을 만들어 계산합니다. 그래서 로짓(logits)은 16비트이고, 손실과 가중치의 그레이디언트와 업데이트는 32비트입니다. 블록은 순전파(forward pass)와 손실까지만 감쌉니다. 역전파(backward pass)는 순전파가 쓴 정밀도를 알아서 따라갑니다. `model.half()`는 다릅니다. 가중치까지 float16으로 바꾸므로, 1에서 0.0001을 빼는 것 같은 작은 업데이트는 반올림되어 사라집니다.

빨라지는 것도 행렬 곱입니다. 업데이트는 그대로 32비트라서 스텝 전체는 그만큼 빨라지지 않습니다. H100에서 4096 × 4096 행렬 곱은 2.7 ms에서 0.2 ms로 줄었고, 6층 트랜스포머의 한 스텝은 29 ms에서 20 ms로 줄었습니다.

**예측 2.** 정규화도 잔차 연결(residual connection, 계층의 입력을 출력에 더해 주는 길)도 없는, 계층(layer) 24개짜리 tanh 모델의 그레이디언트를 float16 autocast로 구합니다. 손실에 아무것도 곱하지 않습니다. 가장 앞 계층의 그레이디언트를 float32로 구한 것과 비교하면 어떨까요? 그림의 「배율 65536」은 손실에 65536을 곱해 구한 다음 65536으로 나눈 것입니다.

- a: inf입니다. 24개 계층을 거치며 커집니다.
- b: 1%쯤 부정확합니다.
- c: 거의 모두 0입니다.
"""

# %% tags=["predict"]
predict("02-4")

# %%
deep = deep_model(seed=0)
exact = gradients(deep, torch.float32)
attempts = {
    "float16": gradients(deep, torch.float16),
    "float16, 배율 65536": gradients(deep, torch.float16, scale=2**16),
    "bfloat16": gradients(deep, torch.bfloat16),
}

# %% tags=["folded"]
# 그림과 확인: 계층마다의 상대 오차, float16의 경계
errors = {name: relative_errors(grads, exact) for name, grads in attempts.items()}
zeros = [(grad == 0).float().mean().item() for grad in attempts["float16"]]
print(f"첫 계층의 그레이디언트 노름: {exact[0].norm():.1e}")
print(f"float16에서 0이 된 비율: 첫 계층 {zeros[0]:.0%}, 마지막 계층 {zeros[-1]:.0%}")

figure, axis = plt.subplots()
for (name, curve), (color, style) in zip(
    errors.items(), [("wrong", "-"), ("right", "-"), ("third", "--")], strict=True
):
    axis.plot(range(1, 25), curve, style, color=COLORS[color], label=name)
axis.axhline(1, color=COLORS["muted"], linewidth=1)
axis.set(xlabel="계층 번호 (1이 입력 쪽)", ylabel="상대 오차 (로그 눈금)", yscale="log", ylim=(5e-4, 60))
axis.set_title("float32로 구한 그레이디언트와의 상대 오차")
axis.legend(loc="upper right")
show(
    figure,
    "계층마다의 그레이디언트 상대 오차 세 줄. 배율이 없는 float16은 출력 쪽에서 1000분의 1이지만 "
    "입력 쪽으로 갈수록 커져 1을 넘었다가, 맨 앞 계층들에서는 모두 0이 되어 정확히 1입니다. 배율을 곱한 float16은 줄곧 0.01 아래이고, bfloat16은 그 열 배쯤입니다.",
)
first_zeros = [
    (gradients(deep_model(seed), torch.float16)[0] == 0).float().mean().item() for seed in range(6)
]
assert median(first_zeros) > 0.8
assert min(errors["float16"][:3]) > 0.99
assert exact[0].norm() < 1e-4 * exact[-1].norm()  # 입력 쪽으로 갈수록 작아집니다
assert max(errors["float16, 배율 65536"]) < 0.02
assert max(errors["bfloat16"]) < 0.15
assert 3 < median(errors["bfloat16"]) / median(errors["float16, 배율 65536"]) < 30
# 0이 아닌 가장 작은 수는 6.0e-8이지만, 그 절반인 3.0e-8보다 크면 0이 아니라 6.0e-8로 반올림됩니다
tiny = torch.tensor([2.0**-25, 2.0**-25 * 1.001, 2.0**-24]).half().float().tolist()
assert tiny == [0.0, 2.0**-24, 2.0**-24]


# %% tags=["folded"]
# 표와 확인: 다른 모델에서 float16 때문에 0이 된 비율, 시드 6개의 중앙값
makers = {
    "24계층 tanh, 기본 초기화": deep_model,
    "24계층 tanh, Xavier 초기화": lambda seed: deep_model(seed, xavier=True),
    "숫자 분류기 (2계층)": make_model,
}
lost = {
    name: [(lost_to_float16(make(seed), 1), lost_to_float16(make(seed))) for seed in range(6)]
    for name, make in makers.items()
}
show_table(
    ["모델", "첫 계층", "모델 전체"],
    [
        [name, *(f"{median(column):.1%}" for column in zip(*pairs, strict=True))]
        for name, pairs in lost.items()
    ],
)
assert all(first > 0.8 and whole < 0.4 for first, whole in lost["24계층 tanh, 기본 초기화"])
assert all(whole < 0.01 for name in list(lost)[1:] for _, whole in lost[name])
gaps = [abs(half_precision_loss(torch.float16, s) - half_precision_loss(torch.float32, s)) for s in range(6)]
print(
    f"숫자 분류기를 스케일러 없이 float16으로 학습한 손실: float32와의 차이가 가장 큰 시드에서 {max(gaps):.4f}"
)
assert max(gaps) < 0.005
reveal("02-4")

# %% [markdown]
r"""
0이 되는 것이 언더플로(underflow)입니다. 오류도 경고도 없습니다. float16에서 0이 아닌 가장 작은 수는 $2^{-24}$, 약 $6 \times 10^{-8}$입니다. 그 절반인 $3 \times 10^{-8}$까지는 0으로, 그보다 크면 $6 \times 10^{-8}$로 반올림됩니다. 경계 가까이에서는 0이 되지 않아도 값이 두 배까지 달라집니다.

둘째 표처럼 언제나 이런 것은 아닙니다. 초기화를 바꾸거나 얕은 모델을 쓰면 사라지는 것이 거의 없습니다. 자기 모델이 어느 쪽인지는 재 보기 전에는 모르므로, float16이면 막는 장치를 켭니다.

손실에 65536을 곱하면 연쇄 법칙을 따라 모든 그레이디언트가 65536배가 되어 float16의 범위로 올라옵니다. 다 구한 다음 나누면 됩니다. `torch.amp.GradScaler`(스케일러)가 이 일을 합니다.

| 호출 | 하는 일 |
|---|---|
| `scaler.scale(loss).backward()` | 손실에 배율을 곱해 역전파합니다 |
| `scaler.unscale_(opt)` | `p.grad`를 배율로 나누고, inf나 NaN이 있는지 적어 둡니다 |
| `scaler.step(opt)` | `opt.step()` 자리에 씁니다 |
| `scaler.update()` | 다음 스텝에 쓸 배율을 정합니다 |

bfloat16은 범위가 넓어 배율이 필요 없습니다. 대신 이 모델에서는 오차가 열 배쯤 큽니다.

## 3. 둘이 만나는 자리

약 8분 · ★★☆

스케일러가 있으면 **클리핑하는 자리**를 조심해야 합니다. `scaler.scale(loss).backward()` 직후의 `p.grad`는 65536배입니다.

**예측 3.** `unscale_`보다 **먼저** `max_norm=0.5`로 클리핑합니다. 세 에폭(epoch) 뒤의 학습 손실을 보면 어떨까요?

- a: SGD만 학습하지 못합니다.
- b: AdamW만 학습하지 못합니다.
- c: 둘 다 학습하지 못합니다.
"""

# %% tags=["predict"]
predict("02-7")


# %%
def unscale_then_clip(model, opt, scaler):
    scaler.unscale_(opt)
    clip_grad_norm_(model.parameters(), 0.5)


def clip_then_unscale(model, opt, scaler):
    clip_grad_norm_(model.parameters(), 0.5)
    scaler.unscale_(opt)


# %% tags=["folded"]
# 표와 확인: 두 옵티마이저와 두 순서, 시드 6개의 중앙값
orders = {"unscale → clip": unscale_then_clip, "clip → unscale": clip_then_unscale}
results = {}
for name, make_opt in OPTIMIZERS.items():
    for order, between in orders.items():
        runs = [clipped_run(between, make_opt, seed) for seed in range(6)]
        results[name, order] = [median(column) for column in zip(*runs, strict=True)]
show_table(
    ["옵티마이저", "순서", "학습 손실", "`step()`이 읽은 가장 큰 노름"],
    [[name, order, f"{loss:.3f}", f"{norm:.1e}"] for (name, order), (loss, norm) in results.items()],
)
assert results["SGD 0.5", "unscale → clip"][0] < 0.3
assert results["SGD 0.5", "clip → unscale"][0] > 2.0  # ln 10 = 2.3에서 움직이지 않습니다
adam_losses = [results["AdamW 0.003", order][0] for order in orders]
assert abs(adam_losses[0] - adam_losses[1]) < 0.05
for name in OPTIMIZERS:
    assert 0.4 < results[name, "unscale → clip"][1] < 0.51
    assert results[name, "clip → unscale"][1] < 1e-4
reveal("02-7")

# %% [markdown]
r"""
먼저 클리핑하면 0.5로 줄인 것을 `unscale_`이 65536으로 한 번 더 나눕니다. 노름은 $7.6 \times 10^{-6}$을 넘지 못합니다. SGD는 그레이디언트의 크기만큼 움직이므로 멈춥니다. AdamW는 그레이디언트를 자기 크기로 나누므로 65536분의 1이 되어도 거의 똑같이 움직입니다. 손실 곡선은 멀쩡합니다. 다만 모든 스텝의 크기를 똑같이 눌렀으니 「튀는 배치만 줄인다」는 클리핑의 뜻은 사라졌습니다. 실제 사례: [Pytorch-UNet#468](https://github.com/milesial/Pytorch-UNet/issues/468).

### 연습 2. `amp_step`

약 30분 · ★★☆

지금까지의 줄을 한 스텝으로 모읍니다. `scaler=None`이면(bfloat16) 배율 없이 같은 일을 합니다. `torch.cuda.amp`는 더는 쓰지 않는 이름이니 `torch.autocast`와 `torch.amp`를 씁니다.
"""


# %% tags=["exercise:amp_step"]
def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    """혼합 정밀도로 한 스텝을 하고, 업데이트하기 전의 손실을 float로 돌려줍니다.

    dtype: 순전파와 손실을 계산할 정밀도입니다(torch.bfloat16, torch.float16).
    scaler: torch.amp.GradScaler입니다. None이면 배율 없이 역전파합니다.
    max_norm: 값이 있으면 배율을 되돌린 그레이디언트를 줄입니다. 0.0이면 0까지 줄입니다.

    오버플로가 나면 매개변수를 바꾸지 않고, 배율이 내려갑니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        # 꺼 둔 스케일러는 아무 일도 하지 않습니다. 아래 코드가 한 길이 됩니다
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    # 순전파와 손실만 낮은 정밀도로 계산합니다
    with torch.autocast(xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)
    # 손실을 키워 작은 그레이디언트가 0이 되지 않게 합니다
    scaler.scale(loss).backward()
    # 클리핑이 볼 그레이디언트를 진짜 크기로 되돌립니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    # inf나 NaN이 있으면 업데이트를 건너뜁니다
    scaler.step(opt)
    # 건너뛰었으면 배율을 내립니다
    scaler.update()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(amp_step)

# %% [markdown]
r"""
통과했으면 카드 아래의 「현미경」을 누르거나 새 셀에서 `microscope(amp_step)`을 실행해 보세요. 배율이 곱해진 `.grad`가 어느 줄에서 제 크기로 돌아오고 어느 줄에서 클리핑되는지 정답과 나란히 볼 수 있습니다.

## 4. 버그 찾기: 오래된 글의 루프

약 5분 · ★★☆

「완성된 학습 루프」라고 소개되는 코드에 되풀이해 나오는 버그입니다(코드는 새로 썼습니다). **읽고, 고른 다음, 실행하세요.**
"""


# %% tags=["find-the-bug"]
def loop_2(model, opt, batches):
    from torch.cuda.amp import GradScaler, autocast

    scaler = GradScaler()
    for xb, yb in batches:
        opt.zero_grad()
        with autocast(dtype=torch.bfloat16):
            logits = model(xb)
            loss = loss_fn(logits, yb)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return logits.dtype


# %% [markdown]
r"""
**예측 4.** 오래된 글에서 옮겨 온 루프를 **GPU가 없는 컴퓨터**에서 실행하면 로짓의 자료형은 무엇일까요?

- a: bfloat16
- b: float32
- c: 오류가 나서 알 수 없습니다.
"""

# %% tags=["predict"]
predict("02-bug2")

# %%
model = make_model(seed=21)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = loop_2(model, torch.optim.SGD(model.parameters(), lr=0.1), make_batches(seed=21)[:2])
print("로짓의 자료형:", found)
for warning in {(w.category.__name__, str(w.message).split(". ")[0][:80]) for w in caught}:
    print("   ", *warning)

# %% tags=["folded"]
# 확인: 경고의 종류와 로짓의 자료형
assert any(issubclass(w.category, FutureWarning) for w in caught)
if on_cpu:
    assert found is torch.float32
reveal("02-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`torch.cuda.amp`는 더는 쓰지 않는 이름입니다. GPU가 없으면 혼합 정밀도가 통째로 꺼진 채 학습이 끝까지 갑니다. CPU에서 시험한 사람은 혼합 정밀도를 시험하지 않은 것입니다. `torch.autocast(xb.device.type, dtype=...)`과 `torch.amp.GradScaler(device_type)`을 쓰면 어느 장치에서나 같은 코드가 같은 일을 합니다. 장치를 글자로 적지 않고 배치에서 얻는 것도 그 때문입니다.

</details>

## 이제 할 수 있는 것

- 튀는 배치 하나가 SGD와 AdamW에 어떤 영향을 주는지 말하고 클리핑으로 막습니다.
- float16에는 스케일러가 필요하고 bfloat16에는 필요 없는 까닭을 비트로 설명합니다.
- 클리핑을 `unscale_` 다음, `step` 앞에 둡니다.

한 스텝을 썼으니 쉬기 좋은 자리입니다. 다음 노트북에서는 스케일러가 건너뛴 스텝에서 무엇이 멈추고 무엇이 계속되는지 봅니다.

[다음: 건너뛴 스텝](3_skipped_steps.ipynb)
"""
