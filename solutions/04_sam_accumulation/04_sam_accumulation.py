# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# SAM과 그레이디언트 누적

같은 손실(loss)이라도 좁은 골짜기의 바닥과 넓은 골짜기의 바닥은 다릅니다. 가중치(weight)를 조금 건드렸을 때 손실이 크게 오르면 새 데이터에도 약할 것이라는 생각에서 SAM(Sharpness-Aware Minimization)이 나왔습니다. 업데이트 한 번에 그레이디언트(gradient)를 **두 번** 구하는 방법입니다.

여기에 그레이디언트 누적(gradient accumulation)을 더하면 틀리기 쉽습니다. 오류 없이 돌아가고 손실도 내려가는데 업데이트는 틀린 코드가 쉽게 나옵니다. 이 노트북은 그런 코드 하나에서 시작합니다.

이 노트북을 마치면 다음을 할 수 있습니다.

- 누적과 함께 쓴 SAM 코드를 읽고, 업데이트가 어느 마이크로 배치(micro-batch)로 만들어졌는지 말합니다.
- SAM을 `torch.optim.Optimizer`로 만들고, 학습률(learning rate) 0으로 시험합니다.
- 클리핑, 배치 정규화, 드롭아웃, 스케일러, 스케줄러를 두 패스 가운데 어디에 둘지 까닭과 함께 정합니다.
- 첨예도(sharpness)를 여러 방법으로 재고, 그 값이 무엇을 말해 주고 무엇을 말해 주지 않는지 압니다.
- 한국어 기계 독해(MRC) 모델을 SAM과 누적으로 학습하고 EM과 F1로 채점합니다.

연습 문제 5개를 포함해 모두 8시간 반쯤 걸립니다. 처음 배우는 사람을 기준으로 한 어림이라, 비슷한 코드를 써 보았다면 연습은 그 절반이면 됩니다. **두 번에 나누어 하세요.** 처음에는 1–5절(SAM을 만들고 누적과 맞추기, 4시간쯤), 다음에는 6–10절(비용과 첨예도를 재고 한국어 모델 학습하기, 4시간 반쯤)입니다. 절의 제목 아래에 시간과 난이도(★)를 적어 두었습니다. 보너스 문제 2개는 점수에 들어가지 않으니 건너뛰어도 됩니다.

앞의 레슨과 같은 방법으로 씁니다. 예측을 먼저 고르고 실험을 실행합니다. 연습 문제의 코드를 쓰고 `check(...)`를 실행합니다. 막히면 `hint("SAM")`처럼 힌트를 봅니다. 본문의 수치는 여기에서 재고, 결론은 `assert`로 확인합니다. 표와 그림을 그리는 셀은 접어 두었습니다. 펼쳐서 읽어도 됩니다.

먼저 아래의 접힌 셀을 모두 실행하세요. 손글씨 숫자 데이터와 작은 모델, 벡터를 다루는 함수 몇 개를 준비합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 8×8 손글씨 숫자, 작은 분류기와 벡터 함수들입니다
import json
import math
import random
import re
import string
import tempfile
import time
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean, median, stdev
from typing import NamedTuple

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from matplotlib.colors import BoundaryNorm
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR

from grader import check, clinic, hint, microscope, predict, reveal
from grader.paths import asset_path
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"
scratch = tempfile.TemporaryDirectory(prefix="hanstep-")  # 체크포인트를 두는 곳입니다. 끝나면 지워집니다
folder = Path(scratch.name)

# scikit-learn에 들어 있는 8×8 손글씨 숫자 1,797장입니다. 내려받지 않습니다
images, labels = load_digits(return_X_y=True)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
images = torch.tensor(images, dtype=torch.float32)[order].to(device) / 16
labels = torch.tensor(labels)[order].to(device)
x_train, y_train = images[:1437], labels[:1437]
x_val, y_val = images[1437:], labels[1437:]
loss_fn = nn.CrossEntropyLoss()


def make_model(seed, *middle):
    """64 → 64 → 10 분류기입니다. middle을 첫 계층 다음에 끼웁니다. 재기 쉽게 float64로 만듭니다."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 64), *middle, nn.Tanh(), nn.Linear(64, 10)).to(device).double()


def make_batches(seed, count, batch_size=16):
    """학습 데이터를 섞어 만든 마이크로 배치 count개의 리스트입니다."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    while len(batches) < count:
        rows = torch.randperm(len(x_train), generator=generator).to(device)
        batches += [(x_train[r].double(), y_train[r]) for r in rows.split(batch_size) if len(r) == batch_size]
    return batches[:count]


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 모델의 가중치 전체를 벡터 하나로 다룰 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


@torch.no_grad()
def set_weights(model, vector):
    """한 줄로 이은 가중치를 모델에 도로 넣습니다."""
    parameters = list(model.parameters())
    parts = vector.split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.copy_(part.view_as(p))


def gradient_at(model, w, window):
    """가중치가 w일 때, 구간 전체의 평균 손실의 그레이디언트입니다. `.grad`는 건드리지 않습니다."""
    set_weights(model, w)
    loss = sum(loss_fn(model(xb), yb) for xb, yb in window) / len(window)
    return flat(torch.autograd.grad(loss, list(model.parameters())))


def apart(first, second):
    """두 벡터가 가장 많이 다른 곳의 차이입니다."""
    return (first - second).abs().max().item()


def relative_error(vector, reference):
    return ((vector - reference).norm() / reference.norm()).item()


def cosine(first, second):
    return (first @ second / (first.norm() * second.norm())).item()


print(f"PyTorch {torch.__version__}, {device}, 학습 {len(x_train)}장, 검증 {len(x_val)}장")

# %% [markdown]
r"""
## 1. 오류 없이 돌아가는 코드

약 25분 · ★★☆

SAM의 업데이트 한 번은 이렇습니다.

1. 지금 가중치 $w$에서 그레이디언트를 구합니다.
2. 그 방향으로 거리 $\rho$만큼 **올라갑니다.** 근처에서 손실이 가장 높을 만한 곳 $w + e$입니다.
3. $w + e$에서 그레이디언트를 다시 구합니다.
4. $w$로 **돌아와서** 3의 그레이디언트로 업데이트합니다.

그래서 SAM 구현은 흔히 `step()`을 둘로 나눕니다. `first_step()`이 2를 하고, `second_step()`이 4를 합니다. 1과 3의 순전파(forward pass)와 역전파(backward pass)는 부르는 쪽의 일입니다.

메모리가 모자라 마이크로 배치 4개를 한 구간(window)으로 누적한다고 하겠습니다. `VectorSAM`은 가중치를 벡터 하나로 이어서 다루는 실험용 SAM입니다. 그 아래의 `tempting_loop`는 누적 코드의 안쪽에 두 번째 패스를 그대로 끼워 넣은 것입니다. 처음 쓰는 사람이 쓰기 쉬운 모양입니다.
"""


# %%
class VectorSAM:
    """실험용 SAM입니다. 모든 가중치를 벡터 하나로 잇습니다. 연습에서는 텐서마다 다루는 옵티마이저로 만듭니다."""

    def __init__(self, model, opt, rho=0.05):
        self.model, self.opt, self.rho = model, opt, rho

    def zero_grad(self):
        self.opt.zero_grad()

    def first_step(self, zero_grad=False):
        self.w = flat(self.model.parameters())
        g = flat(p.grad for p in self.model.parameters())
        set_weights(self.model, self.w + self.rho * g / g.norm())
        if zero_grad:
            self.opt.zero_grad()

    def second_step(self, zero_grad=False):
        set_weights(self.model, self.w)
        self.opt.step()
        if zero_grad:
            self.opt.zero_grad()


# %%
def tempting_loop(model, sam, loss_fn, micro_batches, accum_steps):
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if i % accum_steps != 0:
            continue  # 구간이 찰 때까지 쌓습니다
        sam.first_step(zero_grad=True)

        for _ in range(accum_steps):
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
        sam.second_step(zero_grad=True)


# %% [markdown]
r"""
**예측 1.** 마이크로 배치 네 개가 한 구간입니다. $w + e$에서 구한 마이크로 배치마다의 그레이디언트를 $h_1, h_2, h_3, h_4$라고 하면, 이 코드는 무엇으로 업데이트할까요?

- a: $4 h_4$
- b: $\frac14 (h_1 + h_2 + h_3 + h_4)$
- c: $h_4$
"""

# %% tags=["predict"]
predict("04-1")


# %%
class SpySGD(torch.optim.SGD):
    """step()이 읽은 그레이디언트를 적어 둡니다."""

    def step(self, closure=None):
        self.used = flat(p.grad for group in self.param_groups for p in group["params"])
        return super().step(closure)


def recipe(loop, accum_steps=4, rho=0.05):
    """업데이트 한 번의 그레이디언트를 h1, h2, … 의 합으로 풀어, 마이크로 배치마다 얼마씩 들어갔는지 봅니다."""
    model = make_model(seed=1)
    window = make_batches(seed=1, count=accum_steps)
    w = flat(model.parameters())
    g = gradient_at(model, w, window)
    peak = w + rho * g / g.norm()
    each = torch.stack([gradient_at(model, peak, [batch]) for batch in window], dim=1)
    set_weights(model, w)
    opt = SpySGD(model.parameters(), lr=0.5)
    loop(model, VectorSAM(model, opt, rho), loss_fn, window, accum_steps)
    amounts = torch.linalg.lstsq(each.cpu(), opt.used.cpu()[:, None]).solution.flatten()
    return [round(amount, 3) + 0.0 for amount in amounts.tolist()]


amounts = recipe(tempting_loop)
print("h1, h2, h3, h4가 들어간 양:", amounts)

# %% tags=["folded"]
# 그림: 업데이트에 들어간 양과 구간 평균

figure, axis = plt.subplots(figsize=(6.4, 2.8))
slots = ["$h_1$", "$h_2$", "$h_3$", "$h_4$"]
axis.bar(slots, amounts, width=0.5, color=COLORS["wrong"], label="tempting_loop")
axis.bar(
    slots,
    [0.25] * 4,
    width=0.8,
    facecolor="none",
    edgecolor=COLORS["right"],
    linewidth=1.8,
    label="구간 평균",
)
axis.set(title="업데이트에는 마지막 마이크로 배치만 들어갔습니다", xlabel="그레이디언트", ylabel="들어간 양")
axis.legend(loc="upper left")
axis.grid(visible=False, axis="x")
show(
    figure,
    "업데이트에 들어간 양. tempting_loop는 h1, h2, h3이 0이고 h4만 1입니다. 구간 평균의 테두리는 넷 모두 0.25입니다.",
)
assert amounts == [0.0, 0.0, 0.0, 1.0]
reveal("04-1")

# %% [markdown]
r"""
$w$에서 도는 첫 번째 패스(pass)는 4개를 모두 봅니다. 올라가는 방향은 맞습니다. $w + e$에서 도는 두 번째 패스는 반복문이 남기고 간 `xb, yb`, 곧 **마지막 마이크로 배치**만 네 번 봅니다. 순전파와 역전파를 네 번씩 하므로 시간은 다 쓰고, 얻는 것은 하나를 한 번 본 것과 같습니다.

얼마나 틀렸을까요? 비교할 것이 하나 필요합니다. 두 번째 패스를 아예 하지 않는 **보통의 누적**입니다.

**예측 2.** 마이크로 배치 네 개짜리 구간에서, 바른 SAM의 그레이디언트에 더 가까운 것은 어느 쪽일까요?

- a: 보통의 누적
- b: 위의 코드. 마지막 배치만 보더라도 $w + e$에서 구했습니다.
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("04-2")


# %%
def trained_weights(model, seed, steps, lr=0.5):
    """보통의 SGD로 steps번 학습한 가중치입니다."""
    w = flat(model.parameters())
    for batch in make_batches(seed, steps, batch_size=64):
        w = w - lr * gradient_at(model, w, [batch])
    return w


def compare_gradients(size, *, steps=100, rho=0.05, seeds=range(12)):
    """구간의 길이가 size일 때 (tempting_loop의 오차, 그 코사인, 보통 누적의 오차, 그 코사인)을 시드마다 잽니다."""
    rows = []
    for seed in seeds:
        model = make_model(seed)
        w = trained_weights(model, seed + 100, steps)
        window = make_batches(seed, size)
        g = gradient_at(model, w, window)
        peak = w + rho * g / g.norm()
        h = gradient_at(model, peak, window)
        h_last = gradient_at(model, peak, window[-1:])
        rows.append((relative_error(h_last, h), cosine(h_last, h), relative_error(g, h), cosine(g, h)))
    return [list(column) for column in zip(*rows, strict=True)]


# %% tags=["folded"]
# 표와 그림: 구간의 길이마다 시드 12개
SIZES = [1, 2, 4, 8, 16]
measured = {size: compare_gradients(size) for size in SIZES}
show_table(
    [
        "구간의 길이",
        "tempting_loop: 상대 오차",
        "tempting_loop: 코사인",
        "보통의 누적: 상대 오차",
        "보통의 누적: 코사인",
    ],
    [[size, *(f"{median(column):.2f}" for column in measured[size])] for size in SIZES],
)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for axis, column, title, label_y in [
    (axes[0], 0, "둘만 누적해도 크게 어긋납니다", "바른 SAM과의 상대 오차"),
    (axes[1], 1, "방향도 어긋납니다", "바른 SAM과의 코사인"),
]:
    for offset, color, style, label in [
        (column, COLORS["wrong"], "o-", "tempting_loop"),
        (column + 2, COLORS["right"], "s--", "보통의 누적 (SAM 없음)"),
    ]:
        middle = [median(measured[size][offset]) for size in SIZES]
        low = [min(measured[size][offset]) for size in SIZES]
        high = [max(measured[size][offset]) for size in SIZES]
        axis.plot(SIZES, middle, style, color=color, label=label)
        axis.fill_between(SIZES, low, high, color=color, alpha=0.15, linewidth=0)
    axis.set(title=title, xlabel="구간의 마이크로 배치 수", ylabel=label_y, xscale="log")
    axis.set_xticks(SIZES, [str(size) for size in SIZES])
    axis.minorticks_off()
axes[0].legend(loc="upper left")
show(
    figure,
    "왼쪽: 구간의 길이가 1이면 tempting_loop의 오차가 0이지만 2부터 1에 가깝거나 넘습니다. 보통의 누적은 줄곧 0.3 아래입니다. "
    "오른쪽: tempting_loop의 코사인은 1에서 0.6쯤으로 떨어지고, 보통의 누적은 1에 가깝습니다. 띠는 시드(seed) 12개의 범위입니다.",
)
assert max(measured[1][0]) < 1e-12  # 구간의 길이가 1이면 버그가 드러나지 않습니다
for size in SIZES[2:]:
    wrong, wrong_cosine, plain, plain_cosine = measured[size]
    assert median(wrong) > 0.8
    assert median(wrong_cosine) < 0.8
    assert median(plain) < 0.5
    assert median(plain_cosine) > 0.95
    assert all(bad > good for bad, good in zip(wrong, plain, strict=True))
reveal("04-2")

# %% [markdown]
r"""
구간의 길이가 1이면 오차가 0입니다. 그래서 누적 없이 시험하면 이 버그는 보이지 않습니다. 2개부터는 크게 어긋나고, 더 길게 누적해도 나아지지 않습니다. 누적하는 까닭은 마이크로 배치 하나의 잡음을 평균으로 줄이려는 것인데, 업데이트에는 하나의 잡음이 그대로 들어갑니다. **유효 배치 크기(effective batch size)가 네 배로 늘지 않고 그대로입니다.**

손실 곡선으로는 알 수 없을까요? 세 루프로 나란히 학습해 보겠습니다.
"""


# %%
def plain_loop(model, sam, loss_fn, micro_batches, accum_steps):
    """SAM이 없는 보통의 누적입니다. 업데이트만 sam.opt로 합니다."""
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        (loss_fn(model(xb), yb) / accum_steps).backward()
        if i % accum_steps == 0:
            sam.opt.step()
            sam.opt.zero_grad()


def vector_loop(model, sam, loss_fn, micro_batches, accum_steps):
    """구간을 이어 붙인 큰 배치로 한 SAM입니다. 메모리를 아끼지 못하지만 답은 맞습니다."""
    for start in range(0, len(micro_batches), accum_steps):
        window = micro_batches[start : start + accum_steps]
        w = flat(model.parameters())
        g = gradient_at(model, w, window)
        h = gradient_at(model, w + sam.rho * g / g.norm(), window)
        set_weights(model, w - sam.opt.param_groups[0]["lr"] * h)


# %% tags=["folded"]
# 표: 루프 3개를 시드 6개로 학습합니다
LOOPS = {"바른 SAM": vector_loop, "tempting_loop": tempting_loop, "보통의 누적": plain_loop}


def train_loss(loop, seed, windows=60, rho=0.05):
    """60번 업데이트하며 12번마다 잰 학습 데이터 전체의 손실입니다."""
    model = make_model(seed)
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5), rho)
    batches = make_batches(seed, 4 * windows)
    curve = []
    for start in range(0, len(batches), 48):
        loop(model, sam, loss_fn, batches[start : start + 48], 4)
        with torch.no_grad():
            curve.append(loss_fn(model(x_train.double()), y_train).item())
    return curve


curves = {name: [train_loss(loop, seed) for seed in range(6)] for name, loop in LOOPS.items()}
show_table(
    ["루프 (시드 6개의 중앙값)", *(f"{12 * (k + 1)}번째" for k in range(5))],
    [
        [name, *(f"{median(column):.3f}" for column in zip(*runs, strict=True))]
        for name, runs in curves.items()
    ],
)
for runs in curves.values():
    assert all(curve[-1] < 0.5 * curve[0] for curve in runs)  # 셋 다 「손실이 내려갑니다」

# %% [markdown]
r"""
셋 다 손실이 내려갑니다. 여기서도 **손실이 내려간다는 것은 루프가 맞는다는 증거가 아닙니다.** 업데이트가 무엇으로 만들어졌는지를 보아야 압니다.

이제 SAM을 처음부터 제대로 만듭니다. 한 스텝, 누적, 그리고 주변의 부품들입니다.

## 2. 네 줄의 식

약 30분 · ★★☆

$$
\begin{aligned}
g &= \nabla L(w) && \text{지금 자리의 그레이디언트} \\
e &= \rho \, \frac{g}{\lVert g \rVert} && \text{길이 } \rho \text{인 오르막} \\
h &= \nabla L(w + e) && \text{올라간 자리의 그레이디언트} \\
w &\leftarrow w - \eta\, h && \text{출발은 } w + e \text{가 아니라 } w
\end{aligned}
$$

SAM이 줄이려는 것은 $L(w)$가 아니라 반지름 $\rho$ 안에서 가장 나쁜 손실 $\max_{\lVert e \rVert \le \rho} L(w + e)$입니다. $L(w + e) \approx L(w) + g^\top e$로 어림하면 가장 나쁜 $e$는 $g$ 방향이고, 여기서 둘째 줄이 나옵니다. $e$도 $w$에 따라 바뀌지만 그 미분은 버립니다. 원래 논문도 그렇게 어림합니다.

노름(norm)은 모든 매개변수(parameter)를 이어 붙인 **벡터 하나**의 길이입니다. 앞 레슨의 `clip_global_norm`과 같은 노름입니다. 가중치를 일부러 옮기는 $e$를 섭동(perturbation)이라고 합니다.
"""


# %%
def valley(x, y):
    """x로는 완만하고 y로는 가파른 골짜기입니다."""
    return 0.5 * x**2 + 4 * y**2


def slope(point):
    return torch.tensor([point[0], 8 * point[1]])


w = torch.tensor([-2.0, 0.42])
rho, lr = 0.55, 0.09
g = slope(w)
peak = w + rho * g / g.norm()
h = slope(peak)
after_sam, after_sgd = w - lr * h, w - lr * g

# %% tags=["folded"]
# 그림: 골짜기의 등고선과 화살표
figure, axis = plt.subplots(figsize=(7.6, 4.0))
grid_x, grid_y = torch.meshgrid(
    torch.linspace(-3, -1.2, 160), torch.linspace(-0.65, 1.15, 160), indexing="ij"
)
axis.contour(
    grid_x, grid_y, valley(grid_x, grid_y), levels=12, colors=COLORS["muted"], linewidths=0.7, alpha=0.6
)


def arrow(start, end, color, style="-", bend=0.0):
    axis.annotate(
        "",
        xy=end.tolist(),
        xytext=start.tolist(),
        arrowprops={
            "arrowstyle": "-|>",
            "color": color,
            "linewidth": 2.2,
            "linestyle": style,
            "connectionstyle": f"arc3,rad={bend}",
        },
    )


arrow(w, peak, COLORS["wrong"])
arrow(peak, w, COLORS["fourth"], ":", bend=-0.5)
arrow(w, after_sam, COLORS["right"])
arrow(w, after_sgd, COLORS["third"])
arrow(peak, peak - lr * h, COLORS["muted"], "--")
for point, text, shift in [
    (w, "$w$", (0.05, 0.04)),
    (peak, "$w + e$", (0.03, 0.08)),
    (after_sam, "SAM: $w - \\eta h$", (0.05, -0.07)),
    (after_sgd, "SGD: $w - \\eta g$", (0.07, 0.02)),
]:
    axis.plot(*point.tolist(), "o", color=COLORS["text"], markersize=5)
    axis.text(point[0] + shift[0], point[1] + shift[1], text)
axis.text(-2.42, 0.72, "① 올라가기 $e$", color=COLORS["wrong"], ha="right")
axis.text(-1.98, 0.78, "② 돌아오기", color=COLORS["fourth"])
axis.text(-1.98, 0.0, "③ 업데이트", color=COLORS["right"], ha="right")
axis.text(-2.2, 0.36, "$-\\eta h$\n(③과 같은 화살표)", color=COLORS["muted"], ha="right", fontsize=9)
for label in axis.texts:
    if label.get_text():
        label.set_bbox({"facecolor": COLORS["panel"], "edgecolor": "none", "alpha": 0.8, "pad": 1})
axis.set(
    title="올라간 곳에서 방향을 구하고, 출발한 곳에서 내려갑니다",
    xlim=(-3, -1.2),
    xlabel="$w_1$",
    ylabel="$w_2$",
)
axis.grid(visible=False)
show(
    figure,
    "2차원 골짜기의 등고선. w에서 손실이 커지는 쪽으로 길이 ρ만큼 올라간 점이 w + e입니다. "
    "거기에서 구한 방향을 w로 가져와서 업데이트합니다. SGD보다 가파른 쪽으로 더 많이 내려갑니다.",
)
assert abs((peak - w).norm().item() - rho) < 1e-6
assert valley(*peak) > valley(*w)
# 가파른 쪽의 걸음은 SGD보다 길어지고, 완만한 쪽은 거의 그대로입니다
across, along = (h / g).tolist()
assert across < 1.3
assert along > 1.5

# %% [markdown]
r"""
그림에서 $h$는 $g$보다 가파른 쪽(세로)이 두 배 넘게 커졌고, 완만한 쪽(가로)은 조금 커졌습니다. 올라간 자리에서는 가파른 방향이 더 가팔라 보입니다. 그래서 SAM은 **가파른 방향을 더 세게 피합니다.**

**예측 3.** 두 계층(layer) 모델에는 가중치 둘, 편향(bias) 둘로 텐서가 네 개입니다. 노름을 하나로 구하지 않고 **텐서마다** 따로 나누어 올라가면, 전체가 움직인 거리는 얼마일까요?

- a: $\rho$. 방향만 조금 다릅니다.
- b: $2\rho$
- c: $4\rho$
"""

# %% tags=["predict"]
predict("04-3")

# %%
model = make_model(seed=2)
window = make_batches(seed=2, count=4)
loss = sum(loss_fn(model(xb), yb) for xb, yb in window) / 4
grads = torch.autograd.grad(loss, list(model.parameters()))
g = flat(grads)
whole = 0.05 * g / g.norm()
each = flat(0.05 * grad / grad.norm() for grad in grads)
show_table(
    ["노름", "움직인 거리 ÷ ρ", "그레이디언트와의 코사인"],
    [
        ["하나", f"{whole.norm() / 0.05:.3f}", f"{cosine(whole, g):.3f}"],
        ["텐서마다", f"{each.norm() / 0.05:.3f}", f"{cosine(each, g):.3f}"],
    ],
)

# %% tags=["folded"]
# 확인: 두 노름에서 움직인 거리
assert abs(whole.norm().item() / 0.05 - 1) < 1e-12
assert abs(each.norm().item() / 0.05 - 2) < 1e-12  # 길이 ρ인 조각이 넷: √4
assert cosine(each, g) < 0.95
reveal("04-3")

# %% [markdown]
r"""
### 스케일과 ASAM

SAM을 조금 바꾼 ASAM은 $e$를 이렇게 정합니다. 제곱과 절댓값은 성분마다 구하고, $\odot$은 성분끼리의 곱입니다.

$$ e = \rho \, \frac{w^2 \odot g}{\lVert\, |w| \odot g \,\rVert} $$

편향이 없는 ReLU 모델에서 앞 계층의 가중치에 10을 곱하고 뒤 계층의 가중치를 10으로 나누면, 계산하는 함수는 똑같습니다.

**예측 4.** 스케일을 바꾼 모델에서 $L(w + e) - L(w)$를 잽니다. 바꾸기 전과 값이 같은 것은 어느 쪽일까요?

- a: 둘 다 그대로입니다. 함수가 같기 때문입니다.
- b: SAM만 그대로입니다.
- c: ASAM만 그대로입니다.
"""

# %% tags=["predict"]
predict("04-4")


# %%
def rise(model, batch, rho, *, adaptive):
    """L(w + e) - L(w)입니다."""
    w, g = flat(model.parameters()), gradient_at(model, flat(model.parameters()), [batch])
    e = rho * w**2 * g / (w.abs() * g).norm() if adaptive else rho * g / g.norm()
    with torch.no_grad():
        before = loss_fn(model(batch[0]), batch[1]).item()
        set_weights(model, w + e)
        after = loss_fn(model(batch[0]), batch[1]).item()
    set_weights(model, w)
    return after - before


# %%
torch.manual_seed(3)
relu_model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 10, bias=False))
relu_model = relu_model.to(device).double()
batch = make_batches(seed=3, count=1, batch_size=256)[0]
logits_before = relu_model(batch[0])
before = {name: rise(relu_model, batch, 0.2, adaptive=name == "ASAM") for name in ["SAM", "ASAM"]}
with torch.no_grad():
    relu_model[0].weight *= 10
    relu_model[2].weight /= 10
after = {name: rise(relu_model, batch, 0.2, adaptive=name == "ASAM") for name in ["SAM", "ASAM"]}

# %% tags=["folded"]
# 표와 확인: 스케일을 바꾸기 전과 뒤
show_table(
    ["올라가는 법", "바꾸기 전의 L(w + e) − L(w)", "스케일을 바꾼 뒤"],
    [[name, f"{before[name]:.4f}", f"{after[name]:.4f}"] for name in before],
)
assert torch.allclose(logits_before, relu_model(batch[0]), atol=1e-9)  # 함수는 그대로입니다
assert abs(after["ASAM"] / before["ASAM"] - 1) < 1e-9
assert after["SAM"] > 1.5 * before["SAM"]
reveal("04-4")

# %% [markdown]
r"""
스케일이 달라지면 SAM의 「거리 $\rho$」는 뜻이 달라집니다. ASAM은 성분마다 가중치의 크기에 맞추어 올라가므로 뜻이 그대로입니다. SAM이 재는 「가파름」에는 함수의 성질과 가중치의 스케일이 섞여 있습니다. 7절에서 첨예도를 비교할 때 이것을 기억하세요.

### 연습 1. `SAM`

약 40분 · ★★★

`torch.optim.Optimizer`를 상속해 만듭니다. 지켜야 할 것이 네 가지 있습니다.

- **매개변수 그룹은 base 옵티마이저(optimizer)와 같은 것을 씁니다.**
- **움직인 것은 모두 되돌립니다.** 두 번째 그레이디언트가 `None`인 매개변수도 움직였다면 되돌려야 합니다.
- 되돌릴 때는 적어 둔 값을 **그대로 복사합니다.** $e$를 다시 빼면 반올림이 쌓입니다. 채점은 두 방법을 모두 받습니다.
- 그레이디언트가 모두 0이면 0으로 나누게 됩니다. 움직이지 않고 지나가야 합니다.
"""


# %% tags=["exercise:SAM"]
class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다. 두 걸음 사이에 부르는 쪽이 그레이디언트를 다시 구합니다.

    base_optimizer: torch.optim.SGD 같은 클래스입니다. 남은 인자(lr 등)로 여기서 만듭니다.
    rho: 올라가는 거리입니다. 0보다 작으면 ValueError를 냅니다.
    adaptive: True이면 ASAM입니다. 가중치의 크기에 맞추어 올라갑니다.
    """

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        # BEGIN SOLUTION
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        # 그룹과 상태를 함께 씁니다. 스케줄러를 어느 쪽에 걸어도 같습니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        self.before = {}
        # END SOLUTION

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        """w에서 w + e로 올라가고, w를 적어 둡니다.

        e = ρ·g / ‖g‖. 노름은 모든 매개변수를 합친 하나입니다.
        adaptive이면 e = ρ·w²·g / ‖|w|·g‖ 입니다(w², |w|는 성분마다).
        그레이디언트가 None인 매개변수는 건드리지 않습니다. 그레이디언트가 모두 0이면 움직이지 않습니다.
        zero_grad: True이면 다 움직인 다음에 모든 매개변수 그룹의 그레이디언트를 지웁니다.
        """
        # BEGIN SOLUTION
        squares = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.abs() * p.grad if group["adaptive"] else p.grad
                squares.append(g.square().sum())
        # 노름은 하나입니다. 텐서마다 따로 구하지 않습니다
        norm = math.sqrt(sum(squares))

        for group in self.param_groups:
            # 그레이디언트가 0이어도 0으로 나누지 않습니다
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.square() * p.grad if group["adaptive"] else p.grad
                self.before[p] = p.clone()
                p.add_(e * scale)
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        """적어 둔 w로 모두 되돌린 다음, w + e에서 구한 그레이디언트로 base_optimizer가 한 스텝을 합니다.

        zero_grad: True이면 그 스텝까지 마친 다음에 모든 매개변수 그룹의 그레이디언트를 지웁니다.
        """
        # BEGIN SOLUTION
        # .grad가 None이 된 매개변수도 되돌립니다
        for p, before in self.before.items():
            p.copy_(before)
        self.before.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    def state_dict(self):
        """저장할 것을 돌려줍니다. base_optimizer의 상태(모멘텀 등)가 들어 있습니다."""
        # BEGIN SOLUTION
        return self.base_optimizer.state_dict()
        # END SOLUTION

    def load_state_dict(self, state_dict):
        """state_dict()가 돌려준 것을 읽어, 거기서부터 이어서 학습할 수 있게 합니다."""
        # BEGIN SOLUTION
        self.base_optimizer.load_state_dict(state_dict)
        # 읽으면 그룹과 상태가 새것으로 바뀝니다. 다시 함께 씁니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        # END SOLUTION


# %% tags=["check"]
check(SAM)

# %% [markdown]
r"""
**학습률 0 시험.** SAM을 직접 만들거나 가져다 쓸 때 가장 먼저 해 볼 시험입니다. 학습률을 0으로 놓고 몇 스텝을 돌립니다. 바른 SAM은 올라갔다가 돌아오므로 가중치가 비트까지 그대로여야 합니다. 되돌리기를 빠뜨린 것도, 되돌릴 값을 복사본이 아닌 것으로 적어 둔 것도 여기서 걸립니다.
"""

# %%
try:
    model = make_model(seed=4)
    before = flat(model.parameters())
    sam = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.0)
    for xb, yb in make_batches(seed=4, count=5):
        loss_fn(model(xb), yb).backward()
        sam.first_step(zero_grad=True)
        climbed = (flat(model.parameters()) - before).norm().item()
        loss_fn(model(xb), yb).backward()
        sam.second_step(zero_grad=True)
    print(f"올라간 거리 {climbed:.4f}, 5스텝 뒤에 어긋난 거리 {apart(before, flat(model.parameters()))}")
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"SAM을 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
## 3. 한 스텝

약 10분 · ★☆☆

두 번째 그레이디언트를 어떻게 구할까요? 이미 구한 손실에 `backward()`를 한 번 더 부르는 것이 가장 짧아 보입니다.

**예측 5.** `retain_graph=True`로 그래프를 남겨 두고, `first_step()` 다음에 **같은** `loss`에 `backward()`를 다시 부릅니다. 어떻게 될까요?

- a: 오류가 납니다.
- b: $g(w)$가 한 번 더 나옵니다. SGD와 같아집니다.
- c: $g(w + e)$가 나옵니다. 가중치가 바뀌었기 때문입니다.
"""

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
    message = None
except RuntimeError as error:
    message = str(error)
print((message or "오류 없음").split(". ")[0].split(": [")[0])

# %% tags=["folded"]
# 확인: 나온 메시지
assert message is not None
assert "inplace" in message
reveal("04-5")

# %% [markdown]
r"""
그래서 두 번째 그레이디언트는 순전파부터 다시 구합니다. 순전파를 두 번 하므로 손실도 둘입니다. 기록할 것은 **첫 번째**입니다. 두 번째는 일부러 나쁜 곳에서 잰 값이라, 검증(validation) 손실이나 다른 옵티마이저의 손실과 견줄 수 없습니다.

### 연습 2. `sam_step`

약 15분 · ★☆☆

그레이디언트를 지우고, 구하고, 올라가고, 다시 구하고, 돌아와 업데이트합니다. `first_step`과 `second_step`에 `zero_grad=True`를 주면 지우는 줄을 줄일 수 있습니다. 두 패스 사이에 지우지 않으면 $g + h$로 업데이트합니다.
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
통과했으면 새 셀에서 `microscope(sam_step)`을 실행해 보세요. 가중치가 $w$에서 $w + e$로 올라갔다가 돌아와 업데이트되기까지, 줄마다 무엇이 바뀌는지 정답과 나란히 볼 수 있습니다.

## 4. 누적

약 35분 · ★★☆

### 4.1 두 패스 모두 구간을 전부 봅니다

한 구간의 평균 손실을 $L = \frac1N \sum_k L_k$라고 하면, 01에서 본 식이 두 번 나옵니다.

$$
g = \frac1N \sum_{k=1}^{N} \nabla L_k(w), \qquad
e = \rho \frac{g}{\lVert g \rVert}, \qquad
h = \frac1N \sum_{k=1}^{N} \nabla L_k(w + e)
$$

두 번째 합이 끝날 때까지 가중치는 $w + e$에 머물러야 하고, 그동안 마이크로 배치를 처음부터 다시 보아야 합니다. 로더는 한 번 지나간 배치를 다시 주지 않으므로 **구간의 입력을 들고 있습니다.** 메모리를 얼마나 쓰는지는 6절에서 잽니다.

이렇게 하면 구간을 이어 붙인 큰 배치의 SAM과 같을까요? 잘 알려진 구현의 저장소에는 서로 다른 답이 있습니다. 2020년에는 누적 코드를 보고 「맞는 방법」이라고 했고([#3](https://github.com/davda54/sam/issues/3)), 2022년에는 「이 구현으로는 할 수 없다」고 했습니다([#62](https://github.com/davda54/sam/issues/62)). 재 보면 됩니다.
"""


# %%
def twenty_updates(seed, *, big):
    """SAM으로 20번 업데이트합니다. big이면 구간을 이어 붙인 배치로, 아니면 마이크로 배치마다 나누어 평균 냅니다."""
    model = make_model(seed)
    w = flat(model.parameters())
    batches = make_batches(seed, count=80)

    def mean_gradient(at, window):
        if big:
            inputs, targets = (torch.cat(parts) for parts in zip(*window, strict=True))
            return gradient_at(model, at, [(inputs, targets)])
        return sum(gradient_at(model, at, [batch]) for batch in window) / len(window)

    for start in range(0, 80, 4):
        window = batches[start : start + 4]
        g = mean_gradient(w, window)
        w = w - 0.5 * mean_gradient(w + 0.05 * g / g.norm(), window)
    return w


gaps = [apart(twenty_updates(seed, big=True), twenty_updates(seed, big=False)) for seed in range(6)]
print(f"20번 업데이트한 뒤 가중치의 최대 차이 (시드 6개): {max(gaps):.1e}")
assert max(gaps) < 1e-13  # float64의 반올림뿐입니다

# %% [markdown]
r"""
반올림만큼만 다릅니다. 누적한 SAM은 큰 배치의 SAM과 **같습니다.** 조건이 둘 있습니다. 두 패스가 모두 구간 전체를 보고, **마이크로 배치의 크기가 모두 같아야 합니다.** 위의 식은 마이크로 배치마다의 평균을 다시 평균 내므로, 크기가 다르면 작은 배치의 샘플이 더 크게 반영됩니다. 얼마나 어긋나는지 재 봅니다.
"""


# %%
def uneven_error(sizes, seed, rho=0.05):
    """크기가 sizes인 마이크로 배치로 구한 h와 이어 붙인 배치로 구한 h의 상대 오차: (평균의 평균, 크기로 가중)"""
    model = make_model(seed)
    w = trained_weights(model, seed + 100, 100)
    inputs, targets = make_batches(seed, count=1, batch_size=sum(sizes))[0]
    window = list(zip(inputs.split(sizes), targets.split(sizes), strict=True))

    def sam_gradient(shares):
        g = sum(share * gradient_at(model, w, [batch]) for share, batch in zip(shares, window, strict=True))
        peak = w + rho * g / g.norm()
        return sum(
            share * gradient_at(model, peak, [batch]) for share, batch in zip(shares, window, strict=True)
        )

    joined = gradient_at(model, w, [(inputs, targets)])
    h = gradient_at(model, w + rho * joined / joined.norm(), [(inputs, targets)])
    equal, by_size = [1 / len(sizes)] * len(sizes), [size / sum(sizes) for size in sizes]
    return relative_error(sam_gradient(equal), h), relative_error(sam_gradient(by_size), h)


# %% tags=["folded"]
# 표와 확인: 크기가 같을 때와 다를 때, 시드 12개
uneven = {str(sizes): [uneven_error(sizes, seed) for seed in range(12)] for sizes in ([8] * 4, [8, 8, 8, 3])}
show_table(
    ["마이크로 배치의 크기 (시드 12개의 중앙값)", "평균의 평균: h의 상대 오차", "크기로 가중: h의 상대 오차"],
    [
        [sizes, *(f"{median(column):.0%}" for column in zip(*errors, strict=True))]
        for sizes, errors in uneven.items()
    ],
)
assert max(max(pair) for pair in uneven["[8, 8, 8, 8]"]) < 1e-12
assert max(by_size for _, by_size in uneven["[8, 8, 8, 3]"]) < 1e-12
assert median(equal for equal, _ in uneven["[8, 8, 8, 3]"]) > 0.1

# %% [markdown]
r"""
크기가 다르면 $1/N$ 대신 (그 배치의 샘플 수) ÷ (구간의 샘플 수)를 곱해야 합니다. 로더에 `drop_last=True`를 주어 크기를 모두 같게 하는 방법도 있습니다. 이 레슨의 연습 문제는 크기가 같은 마이크로 배치로 채점하므로, 어느 쪽으로 써도 통과합니다.

### 4.2 마이크로 배치마다 올라가면 안 될까요

마이크로 배치를 하나씩만 들고 있어도 되는 방법이 있습니다. 배치마다 올라가서 구하고 바로 내려옵니다.

$$ h^{\text{micro}} = \frac1N \sum_{k=1}^{N} \nabla L_k(w + e_k), \qquad e_k = \rho \frac{g_k}{\lVert g_k \rVert} $$

**예측 6.** $h^{\text{micro}}$와 $h$의 차이를, SAM이 그레이디언트를 바꾸는 양 $\lVert h - g \rVert$로 나눕니다. $\rho$를 0에 가깝게 줄이면 이 비는 어떻게 될까요?

- a: 0으로 갑니다.
- b: 거의 그대로입니다.
- c: 커집니다. 반올림 때문입니다.
"""

# %% tags=["predict"]
predict("04-6")


# %%
def micro_against_full(rho, seed, size=4):
    """(마이크로 배치마다 올라간 것과의 차이, SAM이 바꾼 양, 차이의 비)입니다. 100스텝 학습한 모델에서 잽니다."""
    model = make_model(seed)
    w = trained_weights(model, seed + 100, 100)
    window = make_batches(seed, size)
    g = gradient_at(model, w, window)
    h = gradient_at(model, w + rho * g / g.norm(), window)
    parts = []
    for batch in window:
        own = gradient_at(model, w, [batch])
        parts.append(gradient_at(model, w + rho * own / own.norm(), [batch]))
    micro = sum(parts) / size
    difference, effect = (micro - h).norm().item(), (h - g).norm().item()
    return difference, effect, difference / effect


# %% tags=["folded"]
# 표와 확인: ρ마다 시드 8개
RHOS = [1e-4, 1e-3, 1e-2, 0.05, 0.2]
found = {rho: [micro_against_full(rho, seed) for seed in range(8)] for rho in RHOS}
middle = {rho: [median(column) for column in zip(*rows, strict=True)] for rho, rows in found.items()}
show_table(
    ["ρ", "마이크로 배치마다와 구간 전체의 차이", "SAM이 바꾼 양", "비"],
    [
        [rho, f"{difference:.1e}", f"{effect:.1e}", f"{ratio:.2f}"]
        for rho, (difference, effect, ratio) in middle.items()
    ],
)
assert all(0.15 < ratio < 1.5 for _, _, ratio in middle.values())
assert 0.8 < middle[1e-4][2] / middle[1e-3][2] < 1.25  # 작아지다가 사라지는 오차가 아닙니다
reveal("04-6")

# %% [markdown]
r"""
$\rho$를 0.2에서 0.0001로 줄여도 비는 거의 그대로입니다. 어림의 오차라면 비가 0으로 가야 합니다. **마이크로 배치마다 올라가는 것은 SAM의 근사가 아니라 다른 알고리즘입니다.** 구간의 손실이 아니라 마이크로 배치마다의 손실을 각자의 최악에서 낮춥니다.

틀린 알고리즘은 아닙니다. 원래 논문에 m-첨예도(m-sharpness)라는 이름으로 나오고, GPU 여러 장에서 장치마다 따로 올라가는 방법도 여기에 듭니다. 다만 PyTorch의 DDP에서는 저절로 그렇게 되지 않습니다. `backward()`가 장치들의 그레이디언트를 평균 내므로 모두 같은 방향으로 올라갑니다. 장치마다 따로 올라가려면 첫 번째 패스의 순전파와 역전파를 `no_sync()` 블록 안에서 해야 하고, 두 번째 패스는 블록 밖에서 해야 합니다. $m$은 올라갈 방향 하나를 정하는 샘플의 수입니다. 작은 $m$이 더 낫다는 보고도 있습니다. 다만 「누적과 큰 배치는 같다」를 기대하고 쓰면 안 됩니다. 이 강의의 연습은 구간 전체를 보는 쪽을 요구합니다.

### 4.3 클리핑은 어디에 둘까요

1절의 코드에 그레이디언트 클리핑(gradient clipping)을 더한다면, 보통의 누적에서처럼 역전파가 끝난 자리, 곧 `first_step()` 바로 앞에 넣기 쉽습니다.

**예측 7.** `first_step()` 앞에서만 클리핑합니다. 20번 업데이트한 가중치는 어떨까요?

- a: 클리핑이 없는 것과 같습니다.
- b: `second_step()` 앞에서 클리핑한 것과 같습니다.
- c: 어느 쪽과도 다릅니다.
"""

# %% tags=["predict"]
predict("04-7")


# %%
def clipped_weights(first, second, max_norm=0.2):
    """이어 붙인 배치로 SAM을 20번 합니다. 첫 번째, 두 번째 패스 다음에 클리핑할지를 정합니다."""
    model = make_model(seed=6)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    sam = VectorSAM(model, opt)
    norms = []
    for xb, yb in make_batches(seed=6, count=20, batch_size=64):
        loss_fn(model(xb), yb).backward()
        if first:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)
        loss_fn(model(xb), yb).backward()
        norms.append(clip_grad_norm_(model.parameters(), max_norm if second else math.inf).item())
        sam.second_step(zero_grad=True)
    return flat(model.parameters()), norms


# %% tags=["folded"]
# 표와 확인: 클리핑하는 자리 셋
no_clip, norms = clipped_weights(False, False)
after_second, _ = clipped_weights(False, True)
cases = {
    "첫 번째 패스 다음에만": clipped_weights(True, False)[0],
    "두 번째 패스 다음에만": after_second,
    "두 곳 모두": clipped_weights(True, True)[0],
}
print(f"클리핑하기 전 두 번째 그레이디언트의 노름: {min(norms):.2f} ~ {max(norms):.2f}, max_norm은 0.2입니다")
show_table(
    ["클리핑하는 자리", "클리핑이 없는 것과의 차이", "두 번째만 클리핑한 것과의 차이"],
    [
        [name, f"{apart(weights, no_clip):.1e}", f"{apart(weights, after_second):.1e}"]
        for name, weights in cases.items()
    ],
)
assert max(norms) > 0.4
assert apart(cases["첫 번째 패스 다음에만"], no_clip) < 1e-9
assert apart(cases["두 곳 모두"], after_second) < 1e-9
assert apart(after_second, no_clip) > 0.01
reveal("04-7")

# %% [markdown]
r"""
첫 번째 그레이디언트는 **방향만** 쓰이고, 노름 클리핑은 길이만 줄입니다. 그래서 클리핑은 업데이트가 되는 그레이디언트, 곧 두 번째 패스의 것에 해야 합니다. 첫 번째에만 클리핑하는 코드는 「클리핑을 했다」고 적혀 있지만 튀는 배치(outlier batch)를 막지 못합니다.

값마다 따로 범위를 막는 `clip_grad_value_`는 방향을 바꾸므로 첫 번째 패스에서도 결과가 달라집니다.

### 연습 3. `sam_accumulate`

약 40분 · ★★★

이제 1절의 코드를 고칩니다. `micro_batches`는 제너레이터일 수 있으니 두 번 돌 수 없습니다. 한 구간씩 꺼내어 들고 있으세요. 마지막 구간이 짧으면 실제 개수로 나눕니다. 클리핑하는 자리는 방금 보았습니다. 마이크로 배치의 크기는 모두 같습니다. 4.1절에서 잰 것처럼, 크기가 다르면 이 함수의 결과는 이어 붙인 배치와 어긋납니다.
"""


# %% tags=["exercise:sam_accumulate"]
def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    """마이크로 배치 accum_steps개(한 구간)마다 SAM 업데이트를 한 번 하고, 구간마다의 손실을 리스트로 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(한 번만 돌 수 있습니다).
        마이크로 배치의 크기(샘플 수)는 모두 같습니다. 하나도 없으면 업데이트하지 않고 빈 리스트를 돌려줍니다.
    max_norm: 값이 있으면(0.0도) 구간마다 한 번, 업데이트에 쓸 그레이디언트를 줄입니다.

    모드는 받은 그대로 둡니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    두 패스 모두 구간의 마이크로 배치를 전부 봅니다. 마지막 구간이 짧으면 거기에 있는 것으로 평균을 냅니다.
    돌려주는 손실은 w에서 잰 것의 구간 평균입니다. 크기가 모두 같으므로, 구간을 이어 붙인 배치에 sam_step을 한 것과 같습니다.
    """
    # BEGIN SOLUTION
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    # 구간을 리스트로 들고 있어야 두 번 볼 수 있습니다
    while window := list(islice(stream, accum_steps)):
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            window_loss += loss.item() / len(window)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            perturbed_loss = loss_fn(model(xb), yb)
            (perturbed_loss / len(window)).backward()
        # 업데이트에 쓰이는 것은 두 번째 그레이디언트입니다
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
    # END SOLUTION


# %% tags=["check"]
check(sam_accumulate)

# %% [markdown]
r"""
다 썼으면 1절의 `recipe`로 확인해 보세요. `tempting_loop`에서는 `[0, 0, 0, 1]`이었습니다.
"""

# %%
try:
    print("h1, h2, h3, h4가 들어간 양:", recipe(sam_accumulate))
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"sam_accumulate를 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
### 보너스 1. `sam_accumulate_weighted`

약 15분 · ★★☆

점수에 들어가지 않고, 힌트도 없습니다. 건너뛰어도 뒤의 절은 그대로 이어집니다.

4.1절의 [8, 8, 8, 3]처럼 **크기가 다른** 마이크로 배치를 받는 `sam_accumulate`입니다. 올라갈 방향을 정하는 그레이디언트도, 업데이트에 쓰는 그레이디언트도, 돌려주는 손실도 구간을 이어 붙인 배치의 것과 같아야 합니다. 곧 모든 샘플의 몫이 같아야 합니다. `loss_fn`은 받은 배치의 **샘플 평균**을 돌려줍니다. 나머지 약속은 연습 3과 같습니다. 부르기 전부터 남아 있던 `.grad`는 지우고 시작합니다. 모델의 모드는 받은 그대로 둡니다.
"""


# %% tags=["exercise:sam_accumulate_weighted"]
def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    """sam_accumulate와 같지만, 마이크로 배치의 크기가 서로 달라도 이어 붙인 배치에 sam_step을 한 것과 같습니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도, 비어 있을 수도 있습니다. 크기(샘플 수)가 서로 다릅니다.
    loss_fn: 받은 배치의 샘플 평균을 돌려줍니다.
    max_norm: 값이 있으면(0.0도) 구간마다(짧은 마지막 구간도) 한 번, 업데이트에 쓸 그레이디언트를 줄입니다.

    모드는 받은 그대로 둡니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    들어올 때 남아 있던 .grad는 쓰지 않습니다. 마지막 구간이 짧으면 거기에 있는 샘플로 평균을 냅니다.
    돌려주는 리스트에는 구간마다 하나씩, w에서 잰 손실의 샘플 평균이 float로 들어 있습니다.
    """
    # BEGIN SOLUTION
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    while window := list(islice(stream, accum_steps)):
        # 몫을 정하려면 구간의 샘플 수를 먼저 알아야 합니다
        total = sum(len(yb) for _, yb in window)
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss * (len(yb) / total)).backward()
            window_loss += loss.item() * (len(yb) / total)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            perturbed_loss = loss_fn(model(xb), yb)
            (perturbed_loss * (len(yb) / total)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
    # END SOLUTION


# %% tags=["check"]
check(sam_accumulate_weighted)

# %% [markdown]
r"""
## 5. 두 번 보아서 생기는 일

약 45분 · ★★★

순전파를 두 번 하고, 그사이에 가중치를 일부러 옮깁니다. 한 번만 한다고 믿고 만든 부품들이 어긋납니다.

### 5.1 배치 정규화

배치 정규화(batch normalization)의 이동 통계량(running statistics)은 학습 모드(train mode)로 순전파할 때마다 바뀝니다. SAM과 누적이면 업데이트 한 번에 $2N$번이고, 그 절반은 일부러 옮긴 $w + e$에서 잰 통계입니다.

두 번째 패스에서만 얼리면 됩니다. [davda54/sam의 예제](https://github.com/davda54/sam/blob/main/example/utility/bypass_bn.py)에 있는 도우미는 `momentum`을 적어 두고 0으로 바꿨다가 되돌립니다. 아래의 `helper_freeze`가 같은 방법입니다.

**예측 8.** 이 도우미의 「얼리기」를 **마이크로 배치마다** 부르고, 「풀기」를 다음 구간의 첫 번째 패스 앞에서 한 번 부릅니다. 어떻게 될까요?

- a: 두 번째 패스에서만 얼어 있습니다. 여러 번 불러도 같습니다.
- b: 두 번째로 얼릴 때 오류가 납니다.
- c: 첫 구간 뒤로 영영 얼어 있습니다.
"""

# %% tags=["predict"]
predict("04-8")


# %%
def helper_freeze(model):
    """momentum을 적어 두고 0으로 바꿉니다."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.backup_momentum = module.momentum
            module.momentum = 0


def helper_unfreeze(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d) and hasattr(module, "backup_momentum"):
            module.momentum = module.backup_momentum


@contextmanager
def frozen_statistics(model):
    """블록 안에서는 배치의 통계로 정규화하되, 이동 통계량을 바꾸지 않습니다."""
    tracking = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d) and m.track_running_stats]
    for module in tracking:
        module.track_running_stats = False
    try:
        yield
    finally:
        for module in tracking:
            module.track_running_stats = True


# %% tags=["folded"]
# 실험과 표: 두 번째 패스에서 얼리는 방법 셋
def with_batch_norm(how, windows=20, size=4):
    """SAM과 누적으로 20번 업데이트하고 (가중치, 이동 평균, 구간마다 바뀌었는지)를 돌려줍니다."""
    model = make_model(7, nn.BatchNorm1d(64))
    batch_norm = model[1]
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.2), rho=0.2)
    batches = make_batches(seed=7, count=windows * size)
    changed = []
    for start in range(0, len(batches), size):
        window = batches[start : start + size]
        before = batch_norm.running_mean.clone()
        helper_unfreeze(model)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / size).backward()
        sam.first_step(zero_grad=True)
        if how == "블록 하나로 얼림":
            with frozen_statistics(model):
                for xb, yb in window:
                    (loss_fn(model(xb), yb) / size).backward()
        else:
            for xb, yb in window:
                if how == "마이크로 배치마다 얼림":
                    helper_freeze(model)
                (loss_fn(model(xb), yb) / size).backward()
        sam.second_step(zero_grad=True)
        changed.append(not torch.equal(before, batch_norm.running_mean))
    return flat(model.parameters()), batch_norm.running_mean.clone(), changed, batch_norm.num_batches_tracked


ways = {how: with_batch_norm(how) for how in ["블록 하나로 얼림", "얼리지 않음", "마이크로 배치마다 얼림"]}
weights, statistics, _, _ = ways["블록 하나로 얼림"]
show_table(
    ["두 번째 패스에서", "가중치의 차이", "이동 평균의 차이", "이동 통계량이 바뀐 구간", "센 배치 수"],
    [
        [how, apart(w, weights), f"{apart(stat, statistics):.1e}", f"{sum(changed)} / 20", int(count)]
        for how, (w, stat, changed, count) in ways.items()
    ],
)
assert all(apart(w, weights) < 1e-9 for w, *_ in ways.values())  # 학습 모드는 이동 통계량을 읽지 않습니다
assert [int(count) for *_, count in ways.values()] == [80, 160, 160]
assert apart(ways["얼리지 않음"][1], statistics) > 1e-3
assert sum(ways["블록 하나로 얼림"][2]) == 20
assert sum(ways["마이크로 배치마다 얼림"][2]) == 1
reveal("04-8")

# %% [markdown]
r"""
표의 「가중치의 차이」는 모두 0입니다. 학습하는 동안에는 배치의 통계만 쓰므로 이동 통계량이 틀려도 드러나지 않습니다. **평가 모드(evaluation mode)로 바꾼 다음에야** 틀린 통계로 예측합니다. 두 번째 패스를 `model.eval()`로 하면 통계량은 지켜지지만 정규화하는 식이 달라져 $h$가 다른 값이 됩니다. `frozen_statistics`처럼 통계량을 기록하는 스위치만 끕니다. 그러면 지나간 배치를 세는 `num_batches_tracked`(표의 「센 배치 수」)도 멈춥니다. `momentum`을 0으로 바꾸는 방법으로는 이 수가 멈추지 않습니다.

### 5.2 드롭아웃

드롭아웃(dropout)이 있으면 두 패스의 마스크가 다릅니다.

**예측 9.** 드롭아웃 0.3인 모델에서 두 번째 패스의 마스크가 바뀌면 $h$가 달라집니다. 그 차이는, 같은 마스크에서 SAM이 그레이디언트를 바꾸는 양 $\lVert h - g \rVert$의 몇 배쯤일까요?

- a: 10분의 1
- b: 1배쯤
- c: 세 배가 넘습니다.
"""

# %% tags=["predict"]
predict("04-9")


# %%
def masked_gradient(model, w, batch, mask_seed):
    torch.manual_seed(mask_seed)
    return gradient_at(model, w, [batch])


dropout_rows = []
for seed in range(12):
    model = make_model(seed, nn.Dropout(0.3))
    batch = make_batches(seed, count=1, batch_size=64)[0]
    w = flat(model.parameters())
    g = masked_gradient(model, w, batch, mask_seed=0)
    peak = w + 0.05 * g / g.norm()
    same, other = (masked_gradient(model, peak, batch, mask_seed) for mask_seed in [0, 1])
    dropout_rows.append((relative_error(g, same), relative_error(other, same)))
sam_effect, mask_effect = (median(column) for column in zip(*dropout_rows, strict=True))
show_table(
    ["h를 바꾸는 것 (시드 12개의 중앙값)", "h의 상대 변화"],
    [
        ["올라가기 (SAM이 하려는 일)", f"{sam_effect:.1%}"],
        ["두 번째 패스의 다른 마스크", f"{mask_effect:.1%}"],
    ],
)

# %% tags=["folded"]
# 확인: 시드 12개의 비율
assert all(mask > 3 * climb for climb, mask in dropout_rows)
reveal("04-9")

# %% [markdown]
r"""
마스크가 다르면 $g$와 $h$는 서로 다른 모델의 그레이디언트인 셈입니다. 같은 마스크를 쓰려면 첫 번째 패스를 시작할 때의 난수 상태를 적어 두었다가 두 번째 패스 앞에서 되돌립니다. 누적이어도 구간마다 한 번이면 됩니다. 두 패스가 마이크로 배치를 같은 순서로 보기 때문입니다.
"""

# %%
model = make_model(8, nn.Dropout(0.3))
window = make_batches(seed=8, count=4)
with torch.random.fork_rng():  # 블록이 끝나면 난수 상태가 블록 앞으로 돌아갑니다
    first = [model(xb) for xb, _ in window]
second = [model(xb) for xb, _ in window]
third = [model(xb) for xb, _ in window]
assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
assert not any(torch.equal(a, b) for a, b in zip(second, third, strict=True))
print("fork_rng로 감싼 첫 번째 패스와 두 번째 패스의 마스크가 같습니다.")

# %% [markdown]
r"""
마스크가 다르다고 틀린 것은 아닙니다. 업데이트마다 잡음이 더 섞이는 것이고, 구현마다 선택이 다릅니다. 다만 **다르다는 것을 알고** 골라야 합니다. 이 강의의 채점기는 두 방법을 모두 받습니다.

### 5.3 스케일러

float16이면 손실에 배율을 곱합니다. 두 패스에서는 어떻게 할까요?

| | 첫 번째 패스 | 두 번째 패스 |
|---|---|---|
| 역전파(backward pass) | `scaler.scale(loss).backward()` | `scaler.scale(loss).backward()` |
| 배율 되돌리기 | **하지 않습니다.** 방향만 쓰므로 배율이 지워집니다 | `scaler.unscale_(opt)` |
| 클리핑 | 쓸모없습니다 | 여기입니다 |
| 움직이기 | 올라갑니다 | **되돌린 다음** `scaler.step(opt)`, `scaler.update()` |

`unscale_`을 두 패스에서 모두 부르면 「이미 불렀다」는 `RuntimeError`가 납니다. 업데이트 한 번에 한 번만 부를 수 있습니다.

남는 문제는 오버플로(overflow)입니다. 첫 번째 패스의 그레이디언트에 inf가 있으면 올라간 자리의 가중치도 쓸 수 없는 값이 됩니다.

**예측 10.** 첫 번째 패스가 넘쳤습니다. 위의 표대로 계속하면, 되돌릴 때 (1) 적어 둔 값을 복사하는 구현과 (2) $e$를 빼는 구현의 가중치는 어떻게 될까요?

- a: 둘 다 원래대로 돌아옵니다. 스케일러가 스텝(step)을 건너뜁니다.
- b: 복사는 돌아오고, 빼기는 NaN으로 남습니다.
- c: 둘 다 NaN으로 남습니다.
"""

# %% tags=["predict"]
predict("04-10")


# %%
def scaled_window(model, opt, scaler, window, rho, *, restore="복사", max_norm=1.0):
    """float16, SAM, 누적으로 한 번 업데이트하고, 올라간 자리의 가중치가 유한했는지를 돌려줍니다."""
    parameters = list(model.parameters())

    def one_pass():
        opt.zero_grad()
        for xb, yb in window:
            with torch.autocast(device.type, torch.float16):
                loss = loss_fn(model(xb.float()), yb) / len(window)
            scaler.scale(loss).backward()

    one_pass()
    g = flat(p.grad for p in parameters)  # 배율이 곱해진 그대로입니다
    w, e = flat(parameters), rho * g / g.norm()
    set_weights(model, w + e)
    finite = bool(torch.isfinite(flat(parameters)).all())
    one_pass()
    set_weights(model, w if restore == "복사" else flat(parameters) - e)
    scaler.unscale_(opt)
    clip_grad_norm_(parameters, max_norm)
    scaler.step(opt)  # inf나 NaN이 있으면 opt.step()을 부르지 않습니다
    scaler.update()
    return finite


# %% tags=["folded"]
# 실험과 표: 일부러 넘치게 큰 배율로 구간 40개
scaler_rows = []
for restore in ["복사", "빼기"]:
    model = make_model(seed=9).float()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**24)  # 일부러 넘치게 큽니다
    windows = [make_batches(seed, count=4) for seed in range(40)]
    finite = [scaled_window(model, opt, scaler, window, 0.05, restore=restore) for window in windows]
    with torch.no_grad():
        final = loss_fn(model(x_train), y_train).item()
    scaler_rows.append([restore, finite.count(False), f"{scaler.get_scale():g}", final])
show_table(["되돌리는 법", "넘친 구간 (40개 가운데)", "마지막 배율", "학습 손실"], scaler_rows)
(copied, _, scale, copied_loss), (_, lost, _, lost_loss) = scaler_rows
assert 1 <= scaler_rows[0][1] <= 15
assert copied_loss < 1.2
assert math.isnan(lost_loss)
assert lost == 40
reveal("04-10")

# 배율이 정말 지워지는지: 배율이 다른 두 학습의 e가 같은 방향인지 봅니다
model = make_model(seed=9)
g = gradient_at(model, flat(model.parameters()), make_batches(9, 4))
assert apart(0.05 * g / g.norm(), 0.05 * (65536 * g) / (65536 * g).norm()) < 1e-15

# %% [markdown]
r"""
첫 번째 그레이디언트에 inf가 있으면 그 성분의 $e$는 $\infty / \infty$, 곧 NaN이고, 올라간 자리의 가중치도 NaN입니다. 그레이디언트에 NaN까지 섞이면 노름이 NaN이라 가중치가 모두 NaN이 됩니다. 배율이 가장 큰 첫 구간이 그렇습니다. 복사로 되돌리는 구현은 넘친 구간에서 순전파와 역전파를 헛되이 하고, 스텝을 건너뛰고, 배율을 낮추고, 다음 구간으로 갑니다. 따로 처리할 것이 없습니다. 빼는 구현은 첫 구간에서 가중치를 모두 잃고 다시는 돌아오지 못합니다.

`scaler.step(sam)`처럼 SAM 객체를 통째로 넘기는 코드도 있습니다. 어떻게 되는지는 9절의 루프 3에서 봅니다.

### 5.4 스케줄러: 어느 객체에 걸까요

스케줄러(scheduler)는 옵티마이저에 겁니다. SAM도 base도 `Optimizer`이므로 둘 가운데 하나를 골라야 합니다.

**예측 11.** SAM이 자기 `param_groups`를 따로 들고 있습니다. 스케줄러를 SAM에 겁니다. base 옵티마이저의 학습률은 어떻게 될까요?

- a: 그대로입니다.
- b: 함께 바뀝니다.
- c: 그룹이 서로 달라서 오류가 납니다.
"""

# %% tags=["predict"]
predict("04-11")


# %%
class SeparateGroups(torch.optim.Optimizer):
    """base 옵티마이저와 매개변수 그룹을 함께 쓰지 않는 SAM의 뼈대입니다."""

    def __init__(self, params, lr):
        params = list(params)
        super().__init__(params, {"lr": lr})
        self.base_optimizer = torch.optim.SGD(params, lr=lr)

    def second_step(self):
        self.base_optimizer.step()


class SharedGroups(SeparateGroups):
    """같은 리스트를 가리키게 한 것입니다."""

    def __init__(self, params, lr):
        super().__init__(params, lr)
        self.param_groups = self.base_optimizer.param_groups


# %% tags=["folded"]
# 실험과 표: 그룹 둘 × 스케줄러를 건 곳 둘
def rates_used(kind, attach_to):
    """세 번 업데이트하며 base 옵티마이저가 쓴 학습률과, 나온 경고의 수입니다."""
    sam = kind([nn.Parameter(torch.zeros(2))], lr=0.8)
    scheduler = ExponentialLR(sam if attach_to == "SAM" else sam.base_optimizer, gamma=0.5)
    used = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            used.append(sam.base_optimizer.param_groups[0]["lr"])
            sam.second_step()
            scheduler.step()
    return used, sum("lr_scheduler.step()" in str(warning.message) for warning in caught)


scheduler_rows = {
    (name, attach_to): rates_used(kind, attach_to)
    for name, kind in [("따로", SeparateGroups), ("함께", SharedGroups)]
    for attach_to in ["SAM", "base"]
}
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
스케줄러는 자기에게 준 옵티마이저의 `param_groups`를 고치고, 실제로 스텝을 하는 것은 base 옵티마이저입니다. 그래서 연습 1에서 그룹을 같은 것으로 하라고 했습니다. 그룹을 함께 쓰면 어느 쪽에 걸어도 됩니다. 그래도 **base 옵티마이저에 거는 편**을 권합니다. SAM에 걸면 「`optimizer.step()`보다 먼저 불렀다」는 경고가 나옵니다. SAM은 `step()`이 아니라 `first_step()`과 `second_step()`을 부르기 때문입니다. 앞 레슨의 워밍업(warmup)과 감쇠도 이렇게 걸면 그대로 쓸 수 있습니다. `scheduler.step()`은 패스마다가 아니라 업데이트마다 한 번입니다.

### 5.5 그레이디언트가 None인 매개변수

두 패스가 언제나 같은 매개변수를 쓰지는 않습니다. 계층을 무작위로 건너뛰는 모델이라면 첫 번째 패스에서 쓴 계층을 두 번째 패스에서 건너뛸 수 있습니다.

**예측 12.** `p.grad`가 `None`이 아닌 것만 되돌리는 SAM이 있습니다. 계층 하나를 패스마다 절반의 확률로 건너뛰는 모델을 **학습률 0**으로 200번 업데이트합니다. 그 계층은 얼마나 움직일까요?

- a: 움직이지 않습니다. 학습률이 0입니다.
- b: $\rho$ 안에서만 움직입니다.
- c: $\rho$보다 멀리 움직입니다.
"""

# %% tags=["predict"]
predict("04-12")


# %% tags=["folded"]
# 모델: 가운데 계층을 절반의 확률로 건너뜁니다
class SometimesSkips(nn.Module):
    """가운데 계층을 절반의 확률로 건너뜁니다."""

    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)

    def forward(self, xb):
        hidden = torch.tanh(self.first(xb))
        if torch.rand(()) < 0.5:
            hidden = hidden + torch.tanh(self.middle(hidden))
        return self.last(hidden)


# %%
def moved_at_zero_rate(*, check_grad, rho=0.05, updates=200):
    """학습률 0으로 업데이트한 뒤 가운데 계층이 움직인 거리를 ρ로 나눈 값입니다."""
    torch.manual_seed(10)
    model = SometimesSkips().to(device).double()
    before = flat(model.middle.parameters())
    for xb, yb in make_batches(seed=10, count=updates):
        model.zero_grad()
        loss_fn(model(xb), yb).backward()
        moved = {p: p.detach().clone() for p in model.parameters() if p.grad is not None}
        norm = flat(p.grad for p in moved).norm()
        with torch.no_grad():
            for p in moved:
                p.add_(rho * p.grad / norm)
        model.zero_grad()
        loss_fn(model(xb), yb).backward()
        with torch.no_grad():
            for p, old in moved.items():
                if check_grad and p.grad is None:
                    continue  # 이 줄이 버그입니다
                p.copy_(old)
    return (flat(model.middle.parameters()) - before).norm().item() / rho


# %% tags=["folded"]
# 표와 확인
drift = {
    "움직인 것을 모두 되돌림": moved_at_zero_rate(check_grad=False),
    "`p.grad`가 None이면 건너뜀": moved_at_zero_rate(check_grad=True),
}
show_table(["되돌리는 법 (학습률 0, 200번)", "움직인 거리 ÷ ρ"], [[k, f"{v:.2f}"] for k, v in drift.items()])
assert drift["움직인 것을 모두 되돌림"] == 0.0
assert drift["`p.grad`가 None이면 건너뜀"] > 2
reveal("04-12")

# %% [markdown]
r"""
[davda54/sam](https://github.com/davda54/sam)이 이렇게 되돌립니다. 같은 코드는 반대의 경우에도 틀립니다. 첫 번째 패스마다 `None`이던 매개변수에 두 번째 패스에서 처음으로 그레이디언트가 생기면, 적어 둔 값을 찾지 못해 `KeyError: 'old_p'`가 납니다(같은 오류를 만난 이슈: [davda54/sam#51](https://github.com/davda54/sam/issues/51)). 되돌릴 것은 `.grad`가 아니라 **적어 둔 목록**에서 찾습니다.

**여기에서 쉬어도 좋습니다.** SAM과 누적을 만드는 일은 끝났습니다. 다음에 이어서 할 때는 6절의 제목이 있는 셀을 고르고, 메뉴에서 실행 → 위의 모든 셀 실행(영어 메뉴에서는 Run → Run All Above Selected Cell)을 고르면 됩니다.

## 6. 비용은 얼마일까요

약 15분 · ★☆☆

**예측 13.** 마이크로 배치 넷을 누적한 SAM을, 큰 배치 한 번의 SGD와 비교합니다. 시간과, 역전파를 위해 저장하는 텐서의 메모리는 어떨까요?

- a: 시간은 두 배쯤, 메모리는 4분의 1쯤
- b: 시간은 두 배쯤, 메모리는 절반쯤
- c: 시간도 메모리도 두 배쯤
"""

# %% tags=["predict"]
predict("04-13")


# %% tags=["folded"]
# 측정 도구: 저장된 텐서의 최대 바이트와 시계, 조금 넓은 모델
def peak_saved_bytes(model, run):
    """run()을 실행하는 동안 역전파를 위해 저장된 텐서의 최대 바이트입니다. 매개변수는 세지 않습니다."""
    parameters = {p.data_ptr() for p in model.parameters()}
    now = peak = 0

    class Saved:
        def __init__(self, tensor):
            nonlocal now, peak
            self.tensor = tensor
            self.bytes = 0 if tensor.data_ptr() in parameters else tensor.numel() * tensor.element_size()
            now += self.bytes
            peak = max(peak, now)

        def __del__(self):
            nonlocal now
            now -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
        run()
    return peak


def clock():
    """CPU에서는 다른 프로그램에 덜 흔들리는 CPU 시간을, GPU에서는 끝나기를 기다려 벽시계를 읽습니다."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


torch.manual_seed(11)
wide = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 10)).to(
    device
)
wide_opt = torch.optim.SGD(wide.parameters(), lr=0.01)
rows = torch.arange(1024, device=device)
big = [(x_train[rows], y_train[rows])]
quarters = list(zip(x_train[rows].split(256), y_train[rows].split(256), strict=True))


# %%
def sgd_update_of(window):
    wide_opt.zero_grad()
    for xb, yb in window:
        (loss_fn(wide(xb), yb) / len(window)).backward()
    wide_opt.step()


def sam_update_of(window):
    sam = VectorSAM(wide, wide_opt)
    wide_opt.zero_grad()
    for xb, yb in window:
        (loss_fn(wide(xb), yb) / len(window)).backward()
    sam.first_step(zero_grad=True)
    for xb, yb in window:
        (loss_fn(wide(xb), yb) / len(window)).backward()
    sam.second_step(zero_grad=True)


# %% tags=["folded"]
# 실험과 표: 업데이트 한 번의 시간과 메모리
jobs = {
    "SGD, 1024 한 번": lambda: sgd_update_of(big),
    "SGD, 256 × 4 누적": lambda: sgd_update_of(quarters),
    "SAM, 1024 한 번": lambda: sam_update_of(big),
    "SAM, 256 × 4 누적": lambda: sam_update_of(quarters),
}
memory = {name: peak_saved_bytes(wide, job) for name, job in jobs.items()}
seconds = dict.fromkeys(jobs, math.inf)
for _ in range(7):
    for name, job in jobs.items():
        begin = clock()
        job()
        seconds[name] = min(seconds[name], clock() - begin)
base_time, base_memory = seconds["SGD, 1024 한 번"], memory["SGD, 1024 한 번"]
weight_bytes = sum(p.numel() * p.element_size() for p in wide.parameters())
show_table(
    ["업데이트 한 번", "시간의 비", "저장한 텐서 (MiB)", "비", "따로 드는 것"],
    [
        [
            name,
            f"{seconds[name] / base_time:.2f}배",
            f"{memory[name] / 2**20:.2f}",
            f"{memory[name] / base_memory:.2f}",
            f"가중치 복사본 {weight_bytes / 2**20:.2f} MiB" if name.startswith("SAM") else "",
        ]
        for name in jobs
    ],
)
assert memory["SAM, 1024 한 번"] == base_memory
assert 0.2 < memory["SAM, 256 × 4 누적"] / base_memory < 0.3
if on_cpu:  # 넉넉한 경계입니다: 다른 일을 하는 컴퓨터에서도 성립해야 합니다
    assert 1.4 < seconds["SAM, 1024 한 번"] / base_time < 3.5
    assert 1.2 < seconds["SAM, 256 × 4 누적"] / base_time < 5
reveal("04-13")

# %% [markdown]
r"""
누적하려고 들고 있는 입력은 이 실험에서 0.25 MiB뿐입니다. 메모리를 많이 쓰는 것은 입력이 아니라 계산 그래프입니다. SAM이 더 쓰는 메모리는 적어 둔 가중치 한 벌입니다. 표에는 모델과 같은 float32로 적을 때의 크기를 썼습니다(실험용 `VectorSAM`은 float64로 적으므로 그 두 배를 씁니다). 그래프는 첫 번째 패스가 끝나면 해제되므로 늘지 않고, 누적하면 마이크로 배치 하나의 몫으로 줄어듭니다. 시간은 누적하든 하지 않든 두 배쯤입니다. 그래서 SAM을 비교할 때는 **같은 에폭이 아니라 같은 시간**을 쓴 상대도 함께 놓아야 합니다. 다음 절에서 그렇게 합니다.
"""

# %% [markdown]
r"""
## 7. 정말 더 평탄할까요

약 55분 · ★★★

### 7.1 첨예도를 재는 법

가장 간단한 측정법은 SAM이 올라가는 바로 그 걸음입니다. 그레이디언트 방향으로 $\rho$만큼 올라갔을 때 손실이 얼마나 커질까요?

$$ S_\rho(w) = L\!\left(w + \rho \frac{g}{\lVert g \rVert}\right) - L(w) $$

재는 코드는 **아무것도 남기지 말아야 합니다.** 가중치만 되돌리면 될 것 같지만 `.grad`, 모드, 이동 통계량, 난수 상태도 있습니다. 두 손실은 같은 난수 상태에서 재야 합니다. 드롭아웃 마스크가 다르면 5.2절에서 본 것처럼 마스크의 차이를 재게 됩니다.

### 연습 4. `sharpness`

약 30분 · ★★☆

`.grad`에 더하지 않고 그레이디언트만 얻으려면 `torch.autograd.grad(loss, params)`를 씁니다. `torch.random.fork_rng()`는 블록이 끝나면 난수 상태를 되돌립니다.
"""


# %% tags=["exercise:sharpness"]
def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    """L(w + ρ·g/‖g‖) − L(w)를 float로 돌려줍니다. 들어올 때의 모드와 난수 상태에서 두 손실을 잽니다.

    가중치, 그레이디언트, 모드, 난수 상태, 배치 정규화의 이동 통계량(num_batches_tracked까지)을 들어올 때 그대로 둡니다.
    얼린 매개변수(requires_grad=False)는 얼린 채로 둡니다.
    """
    # BEGIN SOLUTION
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.detach().clone() for p in params]
    buffers = [b.clone() for b in model.buffers()]

    # fork_rng: 블록이 끝나면 난수 상태가 블록 앞으로 돌아갑니다
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    # .grad에 더하지 않고 그레이디언트만 받습니다
    grads = torch.autograd.grad(loss, params)
    norm = math.sqrt(sum(g.square().sum() for g in grads))

    with torch.no_grad():
        for p, g in zip(params, grads, strict=True):
            p.add_(g * (rho / (norm + 1e-12)))
        # 같은 난수 상태에서 다시 재므로 드롭아웃 마스크도 같습니다
        with torch.random.fork_rng():
            perturbed_loss = loss_fn(model(xb), yb)
        for p, w in zip(params, weights, strict=True):
            p.copy_(w)
        for b, before in zip(model.buffers(), buffers, strict=True):
            b.copy_(before)
    return perturbed_loss.item() - loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sharpness)

# %% [markdown]
r"""
### 7.2 SGD와 SAM을 비교합니다

먼저 정답에 잡음이 섞인 데이터에서 비교합니다. 학습 이미지를 300장으로 줄이고 **정답의 20%를 아무 숫자로 바꿉니다.** 검증 데이터 360장과, 학습에 쓰지 않은 1,137장(시험 데이터)의 정답은 깨끗합니다.

$\rho$를 바꾸어 가며 고른 SAM($\rho = 0.5$)의 검증 정확도는 91%대이고, 학습률 0.1의 SGD는 85% 안팎입니다. SGD에도 하이퍼파라미터(hyperparameter)를 골라 줍니다. 학습률, 가중치 감쇠(weight decay), 라벨 스무딩(label smoothing) 가운데 하나씩입니다. 학습률 3개, 가중치 감쇠 4개, 라벨 스무딩 3개를 시드 10개로 돌려 보고, 검증 정확도가 가장 높은 값을 썼습니다.

**예측 14.** 이 가운데 가장 나은 SGD와 SAM($\rho = 0.5$)의 시험 정확도 차이는 얼마일까요?

- a: 2%p보다 작습니다.
- b: 절반인 3%p쯤입니다.
- c: 6%p쯤으로 거의 그대로입니다.
"""

# %% tags=["predict"]
predict("04-14")

# %% [markdown]
r"""
**예측 15.** 잡음이 없는 1,437장 전체로 학습하면, SAM의 검증 정확도는 두 배 오래 학습한 SGD와 비교해 어떨까요?

- a: 3%p 넘게 높습니다.
- b: 3%p 안쪽으로 비슷합니다.
- c: 3%p 넘게 낮습니다.
"""

# %% tags=["predict"]
predict("04-15")


# %% tags=["folded"]
# 학습이 끝난 모델을 담는 상자와, 데이터를 고르는 함수
@dataclass
class Fitted:
    """학습이 끝난 모델과, 그 모델이 본 데이터와, 검증·시험 정확도입니다."""

    model: nn.Module
    inputs: torch.Tensor
    targets: torch.Tensor
    accuracies: list[float]  # 에폭마다의 검증 정확도
    test_accuracy: float  # 학습에 쓰지 않은 나머지 이미지의 정확도. 나머지가 없으면 nan

    @torch.no_grad()
    def loss_at(self, w):
        """가중치가 w일 때의 학습 손실입니다. 모델은 원래 가중치로 돌아갑니다."""
        own = flat(self.model.parameters())
        set_weights(self.model, w)
        loss = loss_fn(self.model(self.inputs), self.targets).item()
        set_weights(self.model, own)
        return loss


def noisy_digits(seed, count, noise):
    """(학습에 쓸 이미지, 정답, 나머지 이미지의 번호)입니다. 정답의 noise만큼을 아무 숫자로 바꿉니다."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(len(x_train), generator=generator)
    rows = shuffled[:count].to(device)
    targets = y_train[rows].cpu()
    noisy = torch.rand(count, generator=generator) < noise
    targets[noisy] = torch.randint(10, (int(noisy.sum()),), generator=generator)
    return x_train[rows], targets.to(device), shuffled[count:].to(device), generator


@torch.no_grad()
def accuracy(model, inputs, targets):
    """정확도(%)입니다."""
    return 100 * (model(inputs).argmax(dim=1) == targets).float().mean().item()


# %%
def fit_digits(seed, *, epochs, count, noise, batch_size, rho=0.0, lr=0.1, decay=0.0, smoothing=0.0):
    """count장의 숫자를 모멘텀 SGD로 학습합니다. rho가 0이 아니면 SAM입니다."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    inputs, targets, rest, generator = noisy_digits(seed, count, noise)
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=decay)
    sam = VectorSAM(model, opt, rho)
    scheduler = LambdaLR(opt, lambda epoch: 0.5 * (1 + math.cos(math.pi * epoch / epochs)))
    accuracies = []
    for _ in range(epochs):
        for batch in torch.randperm(count, generator=generator).to(device).split(batch_size):
            opt.zero_grad()
            F.cross_entropy(model(inputs[batch]), targets[batch], label_smoothing=smoothing).backward()
            if rho:
                sam.first_step(zero_grad=True)
                F.cross_entropy(model(inputs[batch]), targets[batch], label_smoothing=smoothing).backward()
                set_weights(model, sam.w)
            opt.step()
        scheduler.step()
        accuracies.append(accuracy(model, x_val, y_val))
    return Fitted(model, inputs, targets, accuracies, accuracy(model, x_train[rest], y_train[rest]))


# %% tags=["folded"]
# 실험: 방법마다 시드 6개로 학습합니다(1분쯤). 방법 하나가 끝날 때마다 이름을 적습니다
SEEDS = range(6)
NOISY = {"epochs": 60, "count": 300, "noise": 0.2, "batch_size": 50}
CLEAN = {"epochs": 40, "count": 1437, "noise": 0.0, "batch_size": 100}
ON_NOISY = {
    "SGD": {},
    "SGD, 두 배 에폭": {"epochs": 120},
    "SGD, 학습률 0.02": {"lr": 0.02},
    "SGD, 가중치 감쇠 0.02": {"decay": 0.02},
    "SGD, 라벨 스무딩 0.5": {"smoothing": 0.5},
    "SAM, ρ = 0.05": {"rho": 0.05},
    "SAM, ρ = 0.2": {"rho": 0.2},
    "SAM, ρ = 0.5": {"rho": 0.5},
    "SAM, ρ = 1": {"rho": 1.0},
}
ON_CLEAN = {"SGD, 두 배 에폭": {"epochs": 80}, "SAM, ρ = 0.5": {"rho": 0.5}}


def fit_all(settings, methods):
    found = {}
    for name, changed in methods.items():
        found[name] = [fit_digits(seed, **settings | changed) for seed in SEEDS]
        print("학습을 마침:", name, flush=True)
    return found


def spread(values, digits=1):
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"


noisy_fits, clean_fits = fit_all(NOISY, ON_NOISY), fit_all(CLEAN, ON_CLEAN)

# %% tags=["folded"]
# 표와 확인: 잡음이 있는 300장과 잡음이 없는 1,437장
show_table(
    [
        "300장, 정답의 20%를 바꿈 (시드 6개)",
        "학습 손실",
        "검증 (%)",
        "시험 (%)",
        "가장 좋았던 에폭의 검증 (%)",
    ],
    [
        [
            method,
            spread([fitted.loss_at(flat(fitted.model.parameters())) for fitted in found], 3),
            spread([fitted.accuracies[-1] for fitted in found]),
            spread([fitted.test_accuracy for fitted in found]),
            spread([max(fitted.accuracies) for fitted in found]),
        ]
        for method, found in noisy_fits.items()
    ],
)
show_table(
    ["1,437장, 잡음 없음 (시드 6개)", "검증 (%)"],
    [[method, spread([fitted.accuracies[-1] for fitted in found])] for method, found in clean_fits.items()],
)
tested = {method: mean(fitted.test_accuracy for fitted in found) for method, found in noisy_fits.items()}
tuned = ["SGD, 학습률 0.02", "SGD, 가중치 감쇠 0.02", "SGD, 라벨 스무딩 0.5"]
gap = tested["SAM, ρ = 0.5"] - max(tested[method] for method in tuned)
clean_validated = [mean(fitted.accuracies[-1] for fitted in found) for found in clean_fits.values()]
clean_gap = clean_validated[1] - clean_validated[0]
print(
    f"SAM과의 차이: 조정하지 않은 SGD {tested['SAM, ρ = 0.5'] - tested['SGD']:.1f}%p, 가장 나은 SGD {gap:.1f}%p"
)
print(f"잡음이 없을 때 SAM − SGD: {clean_gap:+.1f}%p")
figure, axis = plt.subplots(figsize=(7.6, 3.6))
for place, (name, found) in enumerate(reversed(noisy_fits.items())):
    values = [fitted.test_accuracy for fitted in found]
    color = COLORS["right" if name.startswith("SAM") else "third"]
    axis.plot(values, [place] * len(values), ".", color=color, alpha=0.7)
    axis.plot(mean(values), place, "|", color=color, markersize=18, markeredgewidth=3)
axis.set_yticks(range(len(noisy_fits)), list(reversed(noisy_fits)))
axis.set(
    title="조정한 SGD는 SAM과 비슷합니다", xlabel="시험 정확도 (%). ρ = 1은 그림 밖에 있습니다", xlim=(75, 95)
)
axis.set_ylim(-0.8, len(noisy_fits) - 0.2)
show(
    figure,
    "방법 9개의 시험 정확도. 점은 시드 6개, 막대는 평균입니다. 조정하지 않은 SGD는 85% 안팎이고, 조정한 SGD 셋과 "
    "ρ가 0.5인 SAM은 90% 안팎에 모여 있습니다. ρ가 1인 SAM은 10%쯤이라 그림에 나오지 않습니다.",
)
validated = {name: mean(fitted.accuracies[-1] for fitted in found) for name, found in noisy_fits.items()}
assert abs(validated["SGD"] - 85) < 3
assert abs(validated["SAM, ρ = 0.5"] - 91.5) < 2
assert tested["SAM, ρ = 0.5"] > tested["SGD"] + 3
assert tested["SGD, 두 배 에폭"] < tested["SGD"]
assert abs(gap) < 3
assert all(tested[method] > tested["SGD"] + 2 for method in tuned)
assert tested["SAM, ρ = 1"] < 40
assert abs(clean_gap) < 1

# %%
reveal("04-14", measured="a" if gap < 2 else "b" if gap < 4.5 else "c")

# %%
reveal("04-15", measured="a" if clean_gap > 3 else "c" if clean_gap < -3 else "b")

# %% [markdown]
r"""
표를 조심해서 읽어야 합니다.

- 조정하지 않은 SGD와 비교하면 SAM이 크게 이긴 것처럼 보입니다. 공평하지 않은 비교입니다. SAM에는 $\rho$를 골라 주었고 SGD에는 아무것도 골라 주지 않았습니다. **상대도 조정하면 차이가 거의 사라집니다.** 이 데이터에서는 라벨 스무딩을 쓴 SGD가 절반의 계산으로 SAM과 비슷합니다. 새 방법을 볼 때는 상대를 얼마나 조정했는지를 먼저 확인하세요.
- **반지름 $\rho$도 학습률처럼 골라야 하는 하이퍼파라미터입니다.** 0.05로는 얻은 것이 작고, 1에서는 학습이 무너졌습니다.
- 마지막 열을 보면 SGD도 가장 좋은 에폭에서 멈추면 차이가 많이 줄어듭니다. SAM이 얻은 것의 일부는 조기 종료(early stopping)로도 얻습니다.
- 잡음이 없으면 두 방법은 비슷합니다. 이 SGD는 에폭을 두 배로 늘려 SAM만큼 계산했습니다. 곧 같은 시간을 썼을 때 SAM이 더 얻은 것은 없습니다.

### 7.3 같은 해를 여러 방법으로 재기

잡음이 있는 300장에서 학습한 SGD와 SAM($\rho = 0.5$)의 해를 **연습 4의 측정법**으로 재 봅니다.

**예측 16.** 그레이디언트 방향으로 한 걸음(거리 0.2) 올라갔을 때 손실이 더 크게 오르는 쪽은 어느 해일까요?

- a: SGD의 해
- b: SAM의 해
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("04-16")


# %%
def climb(fitted, rho, steps):
    """반지름 ρ 안에서 손실이 큰 곳을 steps걸음으로 찾아 e를 돌려줍니다. 한 걸음이면 SAM의 e입니다."""
    w = flat(fitted.model.parameters())
    e = torch.zeros_like(w)
    for _ in range(steps):
        set_weights(fitted.model, w + e)
        loss = loss_fn(fitted.model(fitted.inputs), fitted.targets)
        g = flat(torch.autograd.grad(loss, list(fitted.model.parameters())))
        e = e + (1.0 if steps == 1 else 0.3) * rho * g / g.norm()
        e = e * min(1.0, rho / e.norm().item())  # 반지름 밖으로 나가면 경계로 당깁니다
    set_weights(fitted.model, w)
    return e


# %% tags=["folded"]
# 무작위 방향과, 어떤 방향으로 움직였을 때 커진 손실
def random_direction(fitted, seed):
    size = sum(p.numel() for p in fitted.model.parameters())
    direction = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(
        device
    )
    return direction / direction.norm()


def gradient_norm(fitted):
    loss = loss_fn(fitted.model(fitted.inputs), fitted.targets)
    return flat(torch.autograd.grad(loss, list(fitted.model.parameters()))).norm().item()


def rise_along(fitted, e):
    w = flat(fitted.model.parameters())
    return fitted.loss_at(w + e) - fitted.loss_at(w)


# %% tags=["folded"]
# 표와 확인: 측정법 3개, 시드 6개
RULERS = {
    "그레이디언트로 한 걸음, 0.2": lambda fitted: rise_along(fitted, climb(fitted, 0.2, 1)),
    "10걸음으로 찾은 최악, 0.5": lambda fitted: rise_along(fitted, climb(fitted, 0.5, 10)),
    "무작위 방향 5개의 평균, 2.0": lambda fitted: mean(
        rise_along(fitted, 2.0 * random_direction(fitted, seed)) for seed in range(5)
    ),
}
solutions = {"SGD": noisy_fits["SGD"], "SAM": noisy_fits["SAM, ρ = 0.5"]}
rulers = {
    ruler: {name: [measure(fitted) for fitted in found] for name, found in solutions.items()}
    for ruler, measure in RULERS.items()
}
show_table(
    ["측정법 (손실이 커진 양, 시드 6개)", "SGD의 해", "SAM의 해", "SAM이 더 낮은 시드"],
    [
        [
            ruler,
            spread(values["SGD"], 4),
            spread(values["SAM"], 4),
            f"{sum(b < a for a, b in zip(values['SGD'], values['SAM'], strict=True))}/6",
        ]
        for ruler, values in rulers.items()
    ],
)
alignment = {
    name: [cosine(climb(fitted, 0.5, 1), climb(fitted, 0.5, 10)) for fitted in found]
    for name, found in solutions.items()
}
print("한 걸음의 방향과 최악의 방향의 코사인:", {name: spread(v, 2) for name, v in alignment.items()})

steepness = {
    name: [
        value / (0.2 * gradient_norm(fitted))
        for value, fitted in zip(rulers["그레이디언트로 한 걸음, 0.2"][name], found, strict=True)
    ]
    for name, found in solutions.items()
}
print("한 걸음의 높이 ÷ ρ‖g‖:", {name: spread(v, 2) for name, v in steepness.items()})
print("‖g‖:", {name: spread([gradient_norm(f) for f in found], 3) for name, found in solutions.items()})

assert all(
    1 < value < 1.5 for values in steepness.values() for value in values
)  # 한 걸음의 높이는 ρ‖g‖쯤입니다
assert max(alignment["SGD"]) < 0.5 < min(alignment["SAM"])
one_step, worst, scattered = rulers.values()
assert all(b > a for a, b in zip(one_step["SGD"], one_step["SAM"], strict=True))
assert all(b < a / 2 for a, b in zip(worst["SGD"], worst["SAM"], strict=True))
assert mean(scattered["SAM"]) < 0.6 * mean(scattered["SGD"])
for steps, radius in [(1, 0.5), (10, 0.2)]:  # 반지름을 서로 바꾸어도 순서는 같습니다
    swapped = {
        name: [rise_along(f, climb(f, radius, steps)) for f in fits] for name, fits in solutions.items()
    }
    assert all((b > a) == (steps == 1) for a, b in zip(swapped["SGD"], swapped["SAM"], strict=True))
reveal("04-16")

# %% [markdown]
r"""
한 걸음으로 재면 시드 6개 모두에서 SAM의 해가 **더 첨예하고**, 10걸음으로 최악을 찾으면 시드 6개 모두에서 SAM의 해가 몇 배 **더 평탄합니다.** 표의 반지름은 0.2와 0.5로 다르지만, 서로 바꾸어 재도 순서는 같습니다. 어느 쪽이 맞을까요? 둘 다 맞습니다. 다른 것을 쟀을 뿐입니다.

SGD의 해는 그레이디언트가 작고, 그 방향은 가장 가파른 방향에서 많이 벗어나 있습니다(위의 코사인). 그래서 한 걸음은 엉뚱한 쪽으로 갑니다. 게다가 짧은 한 걸음의 높이는 $\rho\lVert g \rVert$에 가깝습니다. 이 측정법은 골짜기의 모양보다 **그레이디언트의 크기**를 잽니다. 학습하는 동안 SAM은 자리를 옮길 때마다 새 방향으로 다시 올라갑니다. 그러나 **학습이 끝난 해를 한 번 재는 측정법으로는 약합니다.** 거기다 2절에서 보았듯 가중치의 스케일만 바꾸어도 값이 바뀝니다.

손실 지형(loss landscape)을 잘라 봅니다.
"""

# %% tags=["folded"]
# 그림과 확인: 두 방향으로 자른 손실 지형
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
cuts = [
    (axes[0], 0.6, lambda fitted: climb(fitted, 0.5, 10), "최악의 방향: SGD의 골짜기가 좁습니다"),
    (axes[1], 4.0, lambda fitted: random_direction(fitted, 0), "무작위 방향: 차이가 훨씬 작습니다"),
]
heights = {}
for axis, reach, find, title in cuts:
    distances = torch.linspace(-reach, reach, 25, dtype=torch.float64).tolist()
    for name, color in [("SGD", COLORS["third"]), ("SAM", COLORS["right"])]:
        lines = []
        for fitted in solutions[name]:
            w, direction = flat(fitted.model.parameters()), find(fitted)
            direction = direction / direction.norm()
            lowest = fitted.loss_at(w)
            lines.append([fitted.loss_at(w + distance * direction) - lowest for distance in distances])
            axis.plot(distances, lines[-1], color=color, linewidth=0.8, alpha=0.6)
        middle = [mean(column) for column in zip(*lines, strict=True)]
        axis.plot(distances, middle, "-" if name == "SAM" else "--", color=color, linewidth=2.6, label=name)
        heights[title, name] = middle[-1]
    axis.set(title=title, xlabel="움직인 거리")
axes[0].set_ylabel("커진 손실")
axes[0].legend(loc="upper center")
axes[0].title.set_fontsize(11)
axes[1].title.set_fontsize(11)
show(
    figure,
    "두 방향으로 자른 손실 지형, 가는 선은 시드 6개, 굵은 선은 평균. 왼쪽 최악의 방향에서는 SGD의 곡선이 SAM보다 몇 배 가파르게 "
    "올라갑니다. 오른쪽 무작위 방향에서는 훨씬 멀리 가도 손실이 조금만 오르고, SGD가 조금 더 오릅니다.",
)
first_title, second_title = (title for *_, title in cuts)
assert heights[first_title, "SGD"] > 2 * heights[first_title, "SAM"]
assert heights[second_title, "SGD"] > heights[second_title, "SAM"]
assert heights[second_title, "SGD"] < 0.3 * heights[first_title, "SGD"]

# %% [markdown]
r"""
무작위 방향으로는 일곱 배 가까이 멀리 가도 손실이 훨씬 덜 오릅니다. 가파른 방향은 몇 개뿐이고, 무작위로 뽑아서는 만나기 어렵습니다.

### 7.4 가장 가파른 방향의 곡률

그러면 가장 가파른 방향은 어떻게 찾을까요? 해의 근처에서 손실은 이렇게 커집니다.

$$ L(w + e) - L(w) \approx g^\top e + \tfrac12\, e^\top H e $$

$H$는 손실을 두 번 미분한 값을 모은 **헤세 행렬**(Hessian)입니다. 길이가 같은 $e$ 가운데 $e^\top H e$를 가장 크게 하는 방향은 가장 큰 고윳값 $\lambda_{\max}$의 고유벡터입니다. 그레이디언트로 한 걸음 올라간 높이와 달리 $\lambda_{\max}$에는 $g$의 크기가 들어 있지 않습니다.

이 모델의 가중치는 9,610개라서 $H$의 칸은 9천만 개가 넘습니다. 그래도 $H$와 **벡터의 곱**은 $H$를 만들지 않고 구할 수 있습니다. $g^\top v$를 한 번 더 미분하면 됩니다.

$$ H v = \nabla_w \left( g^\top v \right) \qquad (v\text{는 고정}) $$
"""


# %%
def hessian_times(fitted, v):
    """헤세 행렬과 벡터 v의 곱입니다. 행렬은 만들지 않습니다."""
    parameters = list(fitted.model.parameters())
    loss = loss_fn(fitted.model(fitted.inputs), fitted.targets)
    grads = torch.autograd.grad(loss, parameters, create_graph=True)  # 한 번 더 미분하려고 그래프를 남깁니다
    slope_along_v = torch.cat([g.flatten() for g in grads]) @ v.to(grads[0].dtype)
    return flat(torch.autograd.grad(slope_along_v, parameters))


# %% tags=["folded"]
# 도구와 표: v, Hv, H²v, …가 만드는 작은 공간에서 고윳값을 구해(란초시 방법) 해 30개를 잽니다
def steepest(fitted, rounds=30):
    """(가장 큰 고윳값, 그 고유벡터)입니다. H와 벡터의 곱을 rounds번 구합니다."""
    basis, images = [random_direction(fitted, seed=0)], []
    for _ in range(rounds):
        images.append(hessian_times(fitted, basis[-1]))
        rest, known = images[-1], torch.stack(basis)
        for _ in range(2):  # 반올림이 남긴 것까지 지우려고 두 번 뺍니다
            rest = rest - known.T @ (known @ rest)
        basis.append(rest / rest.norm())
    small = known @ torch.stack(images).T
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    return values[-1].item(), known.T @ vectors[:, -1]


MEASURED = ["SGD", "SGD, 학습률 0.02", "SGD, 가중치 감쇠 0.02", "SGD, 라벨 스무딩 0.5", "SAM, ρ = 0.5"]
found = {name: [steepest(fitted) for fitted in noisy_fits[name]] for name in MEASURED}
curvature = {name: [value for value, _ in pairs] for name, pairs in found.items()}
lengths = {
    name: [flat(fitted.model.parameters()).norm().item() for fitted in noisy_fits[name]] for name in MEASURED
}
relative = {
    name: [value * length**2 for value, length in zip(curvature[name], lengths[name], strict=True)]
    for name in MEASURED
}
show_table(
    ["시드 6개", "λmax", "가장 작은 것 ~ 가장 큰 것", "‖w‖", "λmax·‖w‖²", "시험 정확도 (%)"],
    [
        [
            name,
            spread(curvature[name], 2),
            f"{min(curvature[name]):.1f} ~ {max(curvature[name]):.1f}",
            spread(lengths[name]),
            f"{mean(relative[name]):.0f}",
            f"{tested[name]:.1f}",
        ]
        for name in MEASURED
    ],
)
for name, pairs in found.items():
    for fitted, (value, vector) in zip(noisy_fits[name], pairs, strict=True):
        assert (hessian_times(fitted, vector) - value * vector).norm() < 0.05 * value  # 고유벡터가 맞습니다
assert max(curvature["SAM, ρ = 0.5"]) < 1.2
assert min(curvature["SGD"]) > 2.5
assert min(curvature["SGD, 학습률 0.02"]) > 3 * mean(curvature["SAM, ρ = 0.5"])
assert min(curvature["SGD, 라벨 스무딩 0.5"]) > 2 * mean(curvature["SAM, ρ = 0.5"])
assert abs(tested["SGD, 라벨 스무딩 0.5"] - tested["SAM, ρ = 0.5"]) < 1
assert abs(mean(lengths["SGD"]) / mean(lengths["SAM, ρ = 0.5"]) - 1) < 0.15
assert mean(relative["SGD, 가중치 감쇠 0.02"]) < mean(relative["SAM, ρ = 0.5"]) < mean(relative["SGD"]) / 2

# %% tags=["folded"]
# 그림: 두 해의 둘레를 평면으로 자릅니다. 거리와 색의 눈금은 두 그림이 같습니다
REACH, POINTS = 1.2, 31
ticks = torch.linspace(-REACH, REACH, POINTS, dtype=torch.float64).tolist()
planes = {}
for name in ["SGD", "SAM, ρ = 0.5"]:
    fitted, (_, vector) = noisy_fits[name][0], found[name][0]
    w, other = flat(fitted.model.parameters()), random_direction(fitted, 1)
    other = other - (other @ vector) * vector
    other = other / other.norm()
    grid = torch.tensor([[fitted.loss_at(w + x * vector + y * other) for x in ticks] for y in ticks])
    planes[name] = grid - grid.min()  # 그림 안에서 가장 낮은 곳보다 높은 만큼
LEVELS = [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.0), sharey=True)
for axis, (name, grid) in zip(axes, planes.items(), strict=True):
    shades = axis.contourf(
        ticks, ticks, grid, levels=LEVELS, cmap="Blues", norm=BoundaryNorm(LEVELS, 256), extend="max"
    )
    axis.contour(ticks, ticks, grid, levels=LEVELS, colors=COLORS["muted"], linewidths=0.5)
    axis.plot(0, 0, "o", color=COLORS["wrong"], markersize=7)
    axis.set(title=f"{name}의 해", xlabel="가장 가파른 방향으로 움직인 거리", aspect="equal")
    axis.grid(visible=False)
axes[0].set_ylabel("무작위 방향으로 움직인 거리")
figure.colorbar(shades, ax=axes, label="커진 손실", ticks=LEVELS, shrink=0.8)
show(
    figure,
    "시드 0의 두 해를 같은 거리, 같은 색 눈금으로 자른 손실. 점은 학습이 끝난 자리입니다. 가로는 저마다 가장 가파른 방향이고 세로는 "
    "무작위 방향입니다. 두 그림 모두 세로로는 거의 평평합니다. 가로로는 SGD의 골짜기가 SAM의 골짜기보다 뚜렷이 좁습니다.",
)
width = {name: int((grid[POINTS // 2] < 0.2).sum()) for name, grid in planes.items()}
assert width["SAM, ρ = 0.5"] > 1.5 * width["SGD"]
assert all((grid[:, POINTS // 2].max() - grid[:, POINTS // 2].min()) < 0.2 for grid in planes.values())

# %% [markdown]
r"""
$\lambda_{\max}$로 재면 시드 6개 모두에서 SAM의 해가 완만합니다. 조정하지 않은 SGD는 모두 2.5를 넘고 SAM은 모두 1.2보다 작습니다. 두 해의 $\lVert w \rVert$가 비슷하므로 같은 거리에서 비교해도 되고, 10걸음으로 찾은 최악과 결론도 같습니다.

나머지 줄도 읽어야 합니다. 라벨 스무딩을 쓴 SGD는 시험 정확도가 SAM과 거의 같은데, $\lambda_{\max}$는 시드마다 SAM의 평균의 두 배가 넘습니다. 학습률 0.02의 SGD는 2점쯤 낮을 뿐인데 세 배가 넘습니다. $\lambda_{\max}$ **하나로 시험 정확도가 정해지지는 않습니다.** 다만 이 두 해는 $\lVert w \rVert$가 작습니다. 거리를 $\lVert w \rVert$의 몇 배인지로 재면 곡률은 $\lambda_{\max} \lVert w \rVert^2$입니다. 이것으로 비교하면 차이가 줄고, 가중치 감쇠를 쓴 SGD는 SAM보다도 완만해집니다.

그래서 「평탄하다」고 말할 때는 **어느 방향으로, 얼마나 멀리, 어떤 스케일에서** 쟀는지를 함께 말해야 합니다. 평탄한 최솟값(flat minimum)이라서 시험 정확도가 높았다는 것도 이 실험은 보여 주지 않습니다. 둘이 함께 일어났을 뿐입니다.

### 보너스 2. `lambda_max`

약 40분 · ★★★

점수에 들어가지 않고, 힌트도 없습니다. 위의 셀은 이 절의 모델과 데이터에만 맞습니다. 이번에는 아무 모델에나 쓸 수 있는 함수를 **거듭제곱법**(power iteration)으로 만듭니다. 아무 벡터 $v$에서 시작해, $H$를 곱하고 길이를 1로 맞추기를 되풀이하면 $v$는 절댓값이 가장 큰 고윳값의 고유벡터로 다가갑니다. 길이가 1인 $v$에서 $v^\top H v$가 그 고윳값입니다.

- 돌려주는 것은 **절댓값이 가장 큰** 고윳값이고, **부호는 그대로** 둡니다. 부호까지 따져 가장 큰 것인 위의 $\lambda_{\max}$와 다를 수 있습니다. 손실이 위로 볼록한 곳에서는 음수입니다.
- $H$는 `requires_grad=True`인 매개변수를 모두 이어 붙인 벡터 하나에 대한 것입니다. 얼린 매개변수는 빼고, 얼린 채로 둡니다. 손실에 쓰이지 않는 매개변수가 있어도 되고, 그 자리의 미분은 0입니다.
- `iterations`만큼만 되풀이하므로, 적게 주면 아직 수렴하지 않은 값이 나옵니다. 곱한 벡터가 0이면(손실이 평평하면) 길이로 나눌 수 없으니 0.0을 돌려줍니다.
- 손실은 들어올 때의 모드와 난수 상태에서 잰 것 하나입니다. 드롭아웃이 있으면 모든 반복이 같은 마스크를 봅니다.
- 재는 코드이므로 아무것도 남기지 않습니다. `sharpness`에서 지킨 것을 여기서도 지킵니다. 처음의 $v$는 전역 난수가 아니라 따로 만든 제너레이터에서 뽑습니다.
"""


# %% tags=["exercise:lambda_max"]
def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    """손실 loss_fn(model(xb), yb)의 헤세 행렬에서 절댓값이 가장 큰 고윳값을, 부호 그대로 float로 돌려줍니다.

    iterations: 헤세 행렬과 벡터의 곱을 구하는 횟수(1 이상)입니다. 받은 만큼 되풀이합니다. 값을 읽으려고 한 번 더 곱해도 됩니다.
        곱이 0이면 0.0을 돌려줍니다.
    헤세 행렬은 requires_grad=True인 매개변수 전체(손실에 쓰이지 않는 것도)에 대한 것입니다. 들어올 때의 모드와 난수 상태에서 잽니다.

    가중치, 그레이디언트, requires_grad, 모드, 전역 난수 상태, 배치 정규화의 이동 통계량(num_batches_tracked까지)을
    들어올 때 그대로 둡니다.
    """
    # BEGIN SOLUTION
    params = [p for p in model.parameters() if p.requires_grad]
    buffers = [b.clone() for b in model.buffers()]
    # 전역 난수를 쓰지 않는 제너레이터입니다
    generator = torch.Generator().manual_seed(0)
    v = [torch.randn(p.shape, generator=generator).to(p) for p in params]

    # 순전파는 한 번만 합니다. 그래서 모든 반복이 같은 마스크를 봅니다
    # materialize_grads: 손실에 쓰이지 않는 매개변수의 미분을 None이 아니라 0으로 받습니다
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params, create_graph=True, materialize_grads=True)
    for _ in range(iterations):
        # 길이는 이어 붙인 벡터 하나의 것입니다
        norm = math.sqrt(sum(part.square().sum() for part in v))
        if norm == 0:  # 지난 곱이 0이었습니다: value도 0입니다
            break
        v = [part / norm for part in v]
        along = sum((g * part).sum() for g, part in zip(grads, v, strict=True))
        product = torch.autograd.grad(along, params, retain_graph=True, materialize_grads=True)
        value = sum((part * h).sum() for part, h in zip(v, product, strict=True))
        v = product
    with torch.no_grad():
        for b, before in zip(model.buffers(), buffers, strict=True):
            b.copy_(before)
    return value.item()
    # END SOLUTION


# %% tags=["check"]
check(lambda_max)

# %% [markdown]
r"""
## 8. 한국어 기계 독해를 SAM과 누적으로

약 45분 · ★★☆

지금까지의 것을 진짜 과제 하나에 모읍니다. 기계 독해(MRC)는 지문과 질문을 읽고, 지문에서 답인 구절을 찾습니다. 모델은 글자마다 「여기에서 답이 시작한다」와 「여기에서 끝난다」의 로짓(logits)을 냅니다.

### 8.1 데이터

지문은 대한민국헌법의 조문이고, 질문은 이 강의에서 만들었습니다. 질문의 3분의 1은 손으로 한 문장씩 썼고, 나머지는 템플릿으로 만들어 같은 사실을 두 가지 문장으로 묻습니다. 그래서 질문의 수와 함께 서로 다른 사실의 수를 보아야 합니다. 나누는 단위는 조문입니다. 검증과 시험 질문의 조문은 학습할 때 한 번도 보지 못합니다.
"""

# %% tags=["folded"]
# 데이터: 읽기, 글자를 번호로 바꾸기, 배치로 묶기
PAD, UNKNOWN, CLS, SEP = range(4)


class Example(NamedTuple):
    """질문 하나입니다. start는 지문에서 답이 시작하는 글자의 번호입니다."""

    question: str
    context: str
    answer: str
    start: int
    kind: str


def load_examples(split):
    articles = json.loads(asset_path("data", "constitution_qa", f"{split}.json").read_text(encoding="utf-8"))
    return [
        Example(qa["question"], paragraph["context"], answer["text"], answer["answer_start"], qa["kind"])
        for article in articles["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
        for answer in qa["answers"][:1]
    ]


train_set, dev_set, test_set = (load_examples(split) for split in ["train", "dev", "test"])
letters = sorted({letter for example in train_set for letter in example.question + example.context})
vocabulary = {letter: number for number, letter in enumerate(letters, start=4)}


def encode(example):
    """[CLS] 질문 [SEP] 지문을 글자 번호로 바꾸고, 답의 첫 글자와 끝 글자의 자리를 함께 돌려줍니다."""
    question = [vocabulary.get(letter, UNKNOWN) for letter in example.question]
    context = [vocabulary.get(letter, UNKNOWN) for letter in example.context]
    start = len(question) + 2 + example.start
    return [CLS, *question, SEP, *context], start, start + len(example.answer) - 1


def collate(examples):
    encoded = [encode(example) for example in examples]
    longest = max(len(ids) for ids, _, _ in encoded)
    input_ids = torch.tensor([ids + [PAD] * (longest - len(ids)) for ids, _, _ in encoded])
    batch = {
        "input_ids": input_ids,
        "attention_mask": (input_ids != PAD).long(),
        "start_positions": torch.tensor([start for _, start, _ in encoded]),
        "end_positions": torch.tensor([end for _, _, end in encoded]),
    }
    return {name: tensor.to(device) for name, tensor in batch.items()}


class LengthLoader:
    """길이가 비슷한 질문끼리 배치로 묶습니다. shuffle이면 돌 때마다 다시 섞습니다."""

    def __init__(self, examples, batch_size, *, shuffle=False, seed=0):
        self.examples, self.batch_size, self.shuffle = list(examples), batch_size, shuffle
        self.random = random.Random(seed)

    def __len__(self):
        return math.ceil(len(self.examples) / self.batch_size)

    def groups(self):
        """배치마다의 Example 리스트입니다."""
        examples = list(self.examples)
        pool = len(examples)
        if self.shuffle:
            self.random.shuffle(examples)
            pool = 32 * self.batch_size  # 이만큼씩만 길이로 정렬해야 섞인 순서가 남습니다
        found = []
        for begin in range(0, len(examples), pool):
            near = sorted(
                examples[begin : begin + pool], key=lambda one: len(one.question) + len(one.context)
            )
            found += [near[k : k + self.batch_size] for k in range(0, len(near), self.batch_size)]
        if self.shuffle:
            self.random.shuffle(found)
        return found

    def __iter__(self):
        return (collate(group) for group in self.groups())


def fact(example):
    """같은 사실을 묻는 질문은 지문과 답의 자리가 같습니다."""
    return example.context, example.start, example.answer


# %% tags=["folded"]
# 표와 확인: 질문과 사실의 수
show_table(
    ["", "질문", "서로 다른 사실", "손으로 쓴 질문", "지문의 평균 길이"],
    [
        [
            name,
            len(examples),
            len({fact(one) for one in examples}),
            sum(one.kind == "natural" for one in examples),
            f"{mean(len(one.context) for one in examples):.0f}자",
        ]
        for name, examples in [("학습", train_set), ("검증", dev_set), ("시험", test_set)]
    ],
)
print(f"글자 {len(vocabulary)}가지. 예: {dev_set[3].question} → {dev_set[3].answer}")
ids, start, end = encode(dev_set[3])
offset = len(dev_set[3].question) + 2
assert dev_set[3].context[start - offset : end - offset + 1] == dev_set[3].answer
assert sum(one.kind == "natural" for one in train_set + dev_set + test_set) >= 400
assert not {one.context for one in train_set} & {one.context for one in dev_set + test_set}
assert not {fact(one) for one in train_set} & {fact(one) for one in dev_set + test_set}

# %% [markdown]
r"""
### 8.2 모델

글자 단위의 작은 트랜스포머 인코더입니다. 10만 개 남짓한 매개변수로 1분 안에 배우게 하려고 두 가지를 보탰습니다. 합성곱 계층 둘로 이웃한 글자를 먼저 보고, 「이 글자들이 질문에도 있는가」를 입력에 더해 줍니다.

바깥 모양은 Hugging Face 모델과 같습니다. `model(**batch).loss`입니다. 그래서 8.6절처럼 사전 학습된 모델로 바꾸어도 학습 루프(training loop)는 그대로입니다.
"""


# %% tags=["folded"]
# 모델: 질문과 겹치는 글자 표시, 합성곱, 트랜스포머 인코더
def question_hits(input_ids, in_context, in_question):
    """지문의 글자마다, 그 글자로 시작하거나 끝나는 한·두·세 글자가 질문에도 있으면 1입니다."""
    same = (input_ids[:, :, None] == input_ids[:, None, :]) & in_context[:, :, None] & in_question[:, None, :]
    run, hits = same, []
    for length in range(1, 4):
        begins = run.any(dim=2)  # 여기에서 시작하는 length글자가 질문에 있습니다
        covered = torch.zeros_like(in_context)
        for shift in range(length):
            covered[:, shift : shift + begins.size(1)] |= begins
        hits.append(covered)
        run = run[:, :-1, :-1] & same[:, length:, length:]
    return torch.stack(hits, dim=2).float()


class QAOutput(NamedTuple):
    loss: torch.Tensor | None
    start_logits: torch.Tensor
    end_logits: torch.Tensor


class Reader(nn.Module):
    """글자 임베딩, 합성곱, 트랜스포머 인코더, 시작과 끝을 고르는 출력 계층입니다."""

    def __init__(self, width=64, layers=1, heads=4, dropout=0.1):
        super().__init__()
        self.letters = nn.Embedding(len(vocabulary) + 4, width)
        self.segments = nn.Embedding(2, width)
        self.hits = nn.Linear(3, width, bias=False)
        self.convolutions = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(2))
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, 2)
        nn.init.normal_(self.letters.weight, std=0.3)
        nn.init.normal_(self.segments.weight, std=0.1)

    def forward(self, input_ids, attention_mask, start_positions=None, end_positions=None):
        after = (input_ids == SEP).cumsum(dim=1) > 0
        in_context = after & (input_ids != SEP) & attention_mask.bool()
        in_question = ~after & (input_ids != CLS)

        hidden = self.letters(input_ids) + self.segments(in_context.long())
        hidden = self.dropout(hidden + self.hits(question_hits(input_ids, in_context, in_question)))
        for convolution in self.convolutions:
            near = convolution((hidden * attention_mask[:, :, None]).transpose(1, 2)).transpose(1, 2)
            hidden = hidden + F.relu(near)
        for layer in self.encoder:
            hidden = layer(hidden, src_key_padding_mask=attention_mask == 0)

        logits = self.head(self.norm(hidden))
        logits = logits.masked_fill(~in_context[:, :, None], -1e9)  # 답은 지문에만 있습니다
        start_logits, end_logits = logits.unbind(dim=-1)
        loss = None
        if start_positions is not None:
            start_loss = F.cross_entropy(start_logits, start_positions)
            loss = (start_loss + F.cross_entropy(end_logits, end_positions)) / 2
        return QAOutput(loss, start_logits, end_logits)


reader = Reader().to(device)
batch = collate(dev_set[:4])
output = reader(**batch)
print(f"매개변수 {sum(p.numel() for p in reader.parameters()):,}개, 로짓 {tuple(output.start_logits.shape)}")
print(f"학습하기 전의 손실 {output.loss.item():.2f}")
assert output.start_logits.shape == batch["input_ids"].shape

# %% [markdown]
r"""
### 8.3 EM과 F1

KorQuAD와 같은 방법으로 채점합니다. EM(exact match)은 문장 부호를 지우고 띄어쓰기를 한 칸으로 줄인 답이 정답과 **똑같은** 비율입니다. F1은 **글자가 겹치는** 정도입니다. 예측의 글자 가운데 정답에 있는 비율(정밀도)과 정답의 글자 가운데 예측에 있는 비율(재현율)의 조화 평균입니다.

**예측 17.** 정답은 「5년」, 예측은 「임기는 5년」입니다. EM과 F1은 얼마일까요?

- a: EM 0, F1 0
- b: EM 0, F1 0.40
- c: EM 0, F1 0.57
"""

# %% tags=["predict"]
predict("04-17")


# %%
def normalized(text):
    """KorQuAD 1.0의 채점처럼 따옴표와 괄호와 문장 부호를 지우고, 띄어쓰기를 하나로 줄입니다."""
    text = re.sub(r"[\'\"《》<>〈〉()‘’]", " ", text.lower())
    text = "".join(letter for letter in text if letter not in string.punctuation)
    return " ".join(text.split())


def exact_match(predicted, answer):
    return float(normalized(predicted) == normalized(answer))


def letter_f1(predicted, answer):
    ours, theirs = (Counter(normalized(text).replace(" ", "")) for text in (predicted, answer))
    shared = sum((ours & theirs).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / ours.total(), shared / theirs.total()
    return 2 * precision * recall / (precision + recall)


# %% tags=["folded"]
# 표와 확인: 예측과 정답의 짝 다섯
pairs = [
    ("5년", "5년"),
    ("임기는 5년", "5년"),
    ("대통령", "대통령령"),
    ("국무 총리", "국무총리"),
    ("국회", "법률"),
]
show_table(
    ["예측", "정답", "EM", "F1"],
    [[ours, right, exact_match(ours, right), f"{letter_f1(ours, right):.2f}"] for ours, right in pairs],
)
assert exact_match("임기는 5년", "5년") == 0
assert abs(letter_f1("임기는 5년", "5년") - 4 / 7) < 1e-9  # 정밀도 2/5, 재현율 1
assert letter_f1("국무 총리", "국무총리") == 1 > exact_match("국무 총리", "국무총리")
reveal("04-17")


# %% tags=["folded"]
# 채점: 시작과 끝의 점수로 구절을 고르고 EM과 F1을 구합니다
@torch.no_grad()
def find_answers(model, examples, longest=30):
    """(Example, 예측한 구절)의 리스트와 샘플 평균 손실입니다. 시작과 끝의 점수를 더해 가장 좋은 구간을 고릅니다."""
    was_training = model.training
    model.eval()
    found, total = [], 0.0
    for group in LengthLoader(examples, 32).groups():
        output = model(**collate(group))
        total += output.loss.item() * len(group)
        start_scores, end_scores = output.start_logits.log_softmax(1), output.end_logits.log_softmax(1)
        scores = start_scores[:, :, None] + end_scores[:, None, :]
        allowed = torch.ones_like(scores[0], dtype=torch.bool).triu().tril(longest - 1)  # 시작 ≤ 끝
        best = scores.masked_fill(~allowed, -torch.inf).flatten(1).argmax(1)
        for example, place in zip(group, best.tolist(), strict=True):
            start, end = divmod(place, scores.size(1))
            offset = len(example.question) + 2
            found.append((example, example.context[start - offset : end - offset + 1]))
    model.train(was_training)
    return found, total / len(examples)


def score_pairs(found):
    """(Example, 예측한 구절)의 리스트로 구한 (EM, F1)입니다. 백분율입니다."""
    em = mean(exact_match(ours, one.answer) for one, ours in found)
    return 100 * em, 100 * mean(letter_f1(ours, one.answer) for one, ours in found)


def score_facts(found):
    """같은 사실을 묻는 질문끼리 먼저 평균 낸 (EM, F1)입니다. 질문이 많은 사실이 더 크게 세어지지 않습니다."""
    facts = {}
    for one, ours in found:
        facts.setdefault(fact(one), []).append((one, ours))
    em, f1 = zip(*map(score_pairs, facts.values()), strict=True)
    return mean(em), mean(f1)


def score(model, examples):
    """(손실, EM, F1)입니다."""
    found, loss = find_answers(model, examples)
    return loss, *score_pairs(found)


untrained = score(reader, dev_set)
print(f"학습하기 전: 손실 {untrained[0]:.2f}, EM {untrained[1]:.1f}, F1 {untrained[2]:.1f}")

# %% [markdown]
r"""
### 연습 5. `train_qa`

약 75분 · ★★★

`sam_accumulate`에 에폭과 검증과 저장을 붙입니다. 채점에 쓰는 학습 배치는 크기가 모두 같습니다. 8.1절의 데이터에서는 에폭마다 배치 하나만 7문제짜리입니다(4.1절). 배치는 dict이고 손실은 `model(**batch).loss`입니다.

- 구간은 에폭 안에서 끝납니다. 남은 배치를 다음 에폭의 첫 구간에 섞지 않습니다.
- 학습 손실과 검증 손실은 **그 에폭의** 샘플 평균입니다. 에폭마다 새로 셉니다.
- 검증은 평가 모드에서 하고, 다음 에폭은 학습 모드로 시작합니다. 끝난 모델도 학습 모드입니다.
- 검증 손실이 가장 낮을 때 **그 순간의** `state_dict()`를 파일에 씁니다.
"""


# %% tags=["exercise:train_qa"]
def train_qa(
    model,
    sam,
    train_loader,
    dev_loader,
    *,
    epochs,
    accum_steps,
    scheduler=None,
    max_norm=1.0,
    checkpoint_path,
) -> dict:
    """추출형 질의응답 모델을 SAM과 누적으로 학습합니다.

    배치는 input_ids, attention_mask, start_positions, end_positions를 담은 dict이고, 손실은 model(**batch).loss입니다.
    학습 배치의 크기(샘플 수)는 모두 같습니다. 다르면 구간을 이어 붙인 배치와 어긋납니다.
    학습 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    train_loader, dev_loader: 배치가 하나 이상 있습니다.
    scheduler: 있으면 업데이트마다 한 번 step()을 부릅니다.
    max_norm: 구간마다 한 번, 업데이트에 쓸 그레이디언트를 이 노름까지 줄입니다. 0.0도 값입니다.
    checkpoint_path: 검증 손실이 가장 낮은 에폭의 model.state_dict()를 저장합니다.

    돌려주는 dict:
        train_losses    에폭마다, w에서 잰 손실의 샘플 평균
        dev_losses      에폭마다, 평가 모드에서 잰 검증 손실의 샘플 평균
        best_epoch      검증 손실이 가장 낮은 에폭(0부터). 같으면 먼저 나온 에폭
    끝나면 모델은 학습 모드입니다.
    """
    # BEGIN SOLUTION
    train_losses, dev_losses = [], []
    best_epoch = None
    for epoch in range(epochs):
        model.train()
        total, num_samples = 0.0, 0
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                total += loss.item() * len(batch["input_ids"])
                num_samples += len(batch["input_ids"])
            sam.first_step(zero_grad=True)

            for batch in window:
                perturbed_loss = model(**batch).loss
                (perturbed_loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(total / num_samples)

        model.eval()
        # 에폭마다 새로 셉니다
        dev_total, dev_samples = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                dev_loss = model(**batch).loss
                dev_total += dev_loss.item() * len(batch["input_ids"])
                dev_samples += len(batch["input_ids"])
        dev_losses.append(dev_total / dev_samples)
        if best_epoch is None or dev_losses[-1] < dev_losses[best_epoch]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
    # END SOLUTION


# %% tags=["check"]
check(train_qa)

# %% [markdown]
r"""
### 8.4 학습합니다

AdamW와, AdamW를 base로 하는 SAM을 같은 에폭만큼 학습합니다. 똑같이 조정한 상대끼리 비교하려고, 방법마다 설정 4개를 시드 0으로 학습해 검증 손실이 가장 낮은 것을 골라 두었습니다. AdamW는 학습률 2개와 가중치 감쇠 2개를, SAM은 학습률 2개와 $\rho$ 2개를 짝지었습니다. 마이크로 배치는 8, 두 개씩 누적해 유효 배치 크기는 16입니다. 앞 레슨처럼 워밍업으로 올렸다가 직선으로 낮추고, 노름이 1.0을 넘으면 클리핑합니다. 두 방법을 합쳐 1분쯤 걸립니다.

**예측 18.** 마지막 에폭의 **학습** 손실은 어느 쪽이 낮을까요?

- a: AdamW
- b: SAM
- c: 거의 같습니다.
"""

# %% tags=["predict"]
predict("04-18")


# %%
def update_reader(model, opt, sam, window):
    """구간 하나로 한 번 업데이트하고 마이크로 배치마다의 손실을 돌려줍니다. sam.rho가 0이면 AdamW입니다."""
    losses = []
    for batch in window:
        loss = model(**batch).loss
        (loss / len(window)).backward()
        losses.append(loss.item())
    if sam.rho:
        sam.first_step(zero_grad=True)
        for batch in window:
            (model(**batch).loss / len(window)).backward()
        set_weights(model, sam.w)
    clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    return losses


# %% tags=["folded"]
# 실험: 에폭, 스케줄러, 검증, 가장 좋은 모델의 저장. 에폭마다 한 줄을 적습니다
def train_reader(*, rho, epochs, seed=0, accum_steps=2, lr=3e-3, weight_decay=0.01):
    """AdamW로(rho가 있으면 그 위의 SAM으로) 학습하고, 에폭마다의 기록과 가장 좋았던 모델을 돌려줍니다."""
    torch.manual_seed(seed)
    model = Reader().to(device)
    loader = LengthLoader(train_set, 8, shuffle=True, seed=seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    sam = VectorSAM(model, opt, rho)
    total_steps = epochs * math.ceil(len(loader) / accum_steps)
    scheduler = LambdaLR(opt, lambda k: min((k + 1) / 20, max(0.02, 1 - k / total_steps)))
    history, best, begin = [], math.inf, clock()
    for epoch in range(epochs):
        model.train()
        epoch_loss, stream = [], iter(loader)
        while window := list(islice(stream, accum_steps)):
            epoch_loss += update_reader(model, opt, sam, window)
            scheduler.step()
        history.append((mean(epoch_loss), *score(model, dev_set), clock() - begin))
        print(f"ρ = {rho}, 에폭 {epoch + 1}: 학습 손실 {history[-1][0]:.2f}, 검증 손실 {history[-1][1]:.2f}")
        if history[-1][1] < best:
            best = history[-1][1]
            torch.save(model.state_dict(), folder / "reader.pt")
    model.load_state_dict(torch.load(folder / "reader.pt", weights_only=True))
    return model, history


# %% tags=["folded"]
# 실험: 조정해 둔 설정을 읽고, 시드 0으로 두 방법을 학습합니다
stored_runs = json.loads(asset_path("data", "reader_runs", "runs.json").read_text(encoding="utf-8"))
KNOBS = ("rho", "lr", "weight_decay")
tried = {
    method: [run for run in stored_runs if run["method"] == method and run["seed"] == 0]
    for method in ("AdamW", "SAM")
}
tuned = {method: min(every, key=lambda run: run["dev_loss"]) for method, every in tried.items()}
show_table(
    ["방법 (시드 0)", "ρ", "학습률", "가중치 감쇠", "검증 손실", "고른 것"],
    [
        [
            method,
            *(f"{run[knob]:g}" for knob in KNOBS),
            f"{run['dev_loss']:.3f}",
            "✓" * (run is tuned[method]),
        ]
        for method, every in tried.items()
        for run in every
    ],
)
assert len(tried["AdamW"]) == len(tried["SAM"]) == 4

EPOCHS = 3 if on_cpu else 10  # GPU가 있으면 더 오래 학습합니다
runs = {
    method: train_reader(**{knob: best[knob] for knob in KNOBS}, epochs=EPOCHS)
    for method, best in tuned.items()
}

# %% tags=["folded"]
# 표와 그림과 확인
rows = []
for name, (_, history) in runs.items():
    best_epoch = min(range(EPOCHS), key=lambda k: history[k][1])
    _, dev, em, f1, _ = history[best_epoch]
    rows.append(
        [
            name,
            f"{history[-1][0]:.2f}",
            f"{dev:.2f}",
            best_epoch + 1,
            f"{em:.1f}",
            f"{f1:.1f}",
            f"{history[-1][-1]:.0f}초",
        ]
    )
show_table(
    ["방법 (시드 1개)", "마지막 학습 손실", "가장 낮은 검증 손실", "그 에폭", "EM", "F1", "걸린 시간"], rows
)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, sharey=True)
for name, color, style in [("SAM", "right", "s-"), ("AdamW", "third", "o--")]:
    for axis, column in zip(axes, [0, 1], strict=True):
        values = [entry[column] for entry in runs[name][1]]
        axis.plot(range(1, EPOCHS + 1), values, style, color=COLORS[color], label=name)
axes[0].set(title="학습 손실", xlabel="에폭", ylabel="손실")
axes[1].set(title="검증 손실은 훨씬 덜 내려갑니다", xlabel="에폭")
axes[0].set_xticks(range(1, EPOCHS + 1))
axes[0].legend()
show(
    figure,
    "에폭마다의 손실. 왼쪽: 두 학습 손실이 모두 내려가고 마지막에는 AdamW가 SAM보다 낮습니다. "
    "오른쪽: 검증 손실은 2.5 안팎에서 훨씬 덜 내려가고, 두 방법의 차이가 작습니다.",
)
assert untrained[0] > 3.5
for _, history in runs.values():
    assert history[-1][0] < 0.7 * history[0][0]
    assert min(entry[1] for entry in history) < 2.6
    assert max(entry[3] for entry in history) > untrained[2] + 20  # F1
adamw, sam_run = (history for _, history in runs.values())
assert abs(min(entry[1] for entry in adamw) - min(entry[1] for entry in sam_run)) < 0.4
if on_cpu:
    assert 1.2 < sam_run[-1][-1] / adamw[-1][-1] < 3.5
closeness = sam_run[-1][0] / adamw[-1][0] - 1
reveal("04-18", measured="a" if closeness > 0.03 else "b" if closeness < -0.03 else "c")

# %% [markdown]
r"""
모델 하나에 1분이 안 되는 학습으로, 처음 보는 조문에서 답을 찾기 시작합니다. 손실은 5에서 2.5쯤으로 내려가고 F1은 몇 배가 됩니다.

시드 하나로는 어느 쪽이 나은지 알 수 없습니다. 그래서 설정을 고를 때 쓰지 않은 시드 4개(1~4)로 두 방법을 학습해 두었습니다. 검증 데이터에서 재고, 무엇을 고르는 데도 쓰지 않은 시험 데이터에서도 쟀습니다. SAM은 시간을 두 배쯤 쓰므로, 에폭을 두 배로 늘린 AdamW도 함께 쟀습니다. 다시 재려면 강의 저장소에서 `python assets/data/reader_runs/measure_reader_runs.py`를 실행합니다(10분쯤).

**예측 19.** 시드 4개 **모두에서** SAM이 AdamW(같은 에폭)보다 나은 것은 어느 것일까요?

- a: 검증 손실과 시험 손실
- b: 검증 손실만
- c: 검증 EM과 시험 EM
"""

# %% tags=["predict"]
predict("04-19")


# %% tags=["folded"]
# 표와 확인: 미리 학습한 시드 4개. 평균 ± 표준편차, 그리고 SAM이 더 나은 시드의 수
def seeds_of(method, epochs=3):
    return [run for run in stored_runs if (run["method"], run["epochs"]) == (method, epochs) and run["seed"]]


adamw_seeds, sam_seeds, long_seeds = seeds_of("AdamW"), seeds_of("SAM"), seeds_of("AdamW", 6)
SCORES = {"손실": "loss", "EM": "em", "F1": "f1", "사실별 EM": "fact_em", "사실별 F1": "fact_f1"}
better = {}
for split, title in [("dev", "검증"), ("test", "시험")]:
    rows = []
    for name, every in [("AdamW", adamw_seeds), ("SAM", sam_seeds), ("AdamW, 에폭 두 배", long_seeds)]:
        columns = [[run[f"{split}_{what}"] for run in every] for what in SCORES.values()]
        digits = [2, 1, 1, 1, 1]
        rows.append(
            [name, *(f"{mean(c):.{n}f} ± {stdev(c):.{n}f}" for c, n in zip(columns, digits, strict=True))]
        )
    for label, what in SCORES.items():
        gaps = [
            two[f"{split}_{what}"] - one[f"{split}_{what}"]
            for one, two in zip(adamw_seeds, sam_seeds, strict=True)
        ]
        better[split, what] = sum(gap < 0 if what == "loss" else gap > 0 for gap in gaps)
    rows.append(
        ["SAM이 AdamW보다 나은 시드", *(f"4개 중 {better[split, what]}개" for what in SCORES.values())]
    )
    show_table([f"{title} (시드 4개)", *SCORES], rows)
times = [mean(run["seconds"] for run in every) for every in (adamw_seeds, sam_seeds, long_seeds)]
print(f"CPU 시간: AdamW {times[0]:.0f}초, SAM {times[1]:.0f}초, 에폭 두 배 {times[2]:.0f}초")
assert all(two["train_loss"] > one["train_loss"] for one, two in zip(adamw_seeds, sam_seeds, strict=True))
assert better["dev", "loss"] == 4 > better["test", "loss"]
assert mean(run["dev_loss"] for run in long_seeds) > mean(run["dev_loss"] for run in adamw_seeds)
assert mean(run["train_loss"] for run in long_seeds) < 0.65 * mean(run["train_loss"] for run in adamw_seeds)
for split in ("dev", "test"):
    for what in ("em", "f1", "fact_em", "fact_f1"):
        gap = mean(run[f"{split}_{what}"] for run in sam_seeds) - mean(
            run[f"{split}_{what}"] for run in adamw_seeds
        )
        assert abs(gap) < 3  # 한 방법의 시드 사이에서 보이는 차이보다 크지 않습니다
reveal("04-19")

# %% [markdown]
r"""
**SAM이 이겼다고 말할 수는 없습니다.** 검증 손실은 시드 4개 모두에서 SAM이 낮았습니다. 그러나 차이는 시드마다 0.02~0.04이고, 설정과 에폭을 고를 때 쓴 데이터에서 잰 값입니다. 시험 데이터에서는 손실이 2:2로 갈렸고, EM과 F1의 차이는 시드 사이의 흔들림에 묻힙니다. 시험 사실은 110개뿐이라, 사실 하나만 더 맞혀도 사실별 EM이 0.9%p 움직입니다. 학습 손실은 늘 AdamW가 낮았습니다.

AdamW의 에폭을 두 배로 늘리면 SAM만큼 시간을 쓰지만, 학습 손실만 절반쯤으로 내려가고 검증 손실은 나아지지 않습니다. 설정은 방법마다 4개만 비교했고, 두 $\rho$ 가운데 큰 쪽이 뽑혔으니 더 큰 값이 나을 수도 있습니다. 여기에서 잰 것은 이 작은 모델과 이 데이터의 이야기입니다.

첨예도는 어떨까요? 7.3절의 두 측정법으로 재 봅니다. 평가 모드에서 짧은 학습 질문 32개로 잽니다.
"""


# %% tags=["folded"]
# 측정과 확인: 7.3절의 두 측정법을 이 모델에 맞춘 것
def reader_rise(model, rho, steps):
    """짧은 학습 질문 32개에서, 반지름 rho 안을 steps걸음 올라갔을 때 커진 손실입니다."""
    model.eval()
    short = [one for one in train_set[::9] if len(one.context) < 90]
    batch = collate(short[:32])
    w, parameters = flat(model.parameters()), list(model.parameters())
    with torch.no_grad():
        lowest = model(**batch).loss.item()
    e = torch.zeros_like(w)
    for _ in range(steps):
        g = flat(torch.autograd.grad(model(**batch).loss, parameters))
        e = e + (1.0 if steps == 1 else 0.3) * rho * g / g.norm()
        e = e * min(1.0, rho / e.norm().item())
        set_weights(model, w + e)
    with torch.no_grad():
        rise = model(**batch).loss.item() - lowest
    set_weights(model, w)
    return rise


reader_rulers = {
    name: (reader_rise(model, 0.1, 1), reader_rise(model, 0.3, 10)) for name, (model, _) in runs.items()
}
show_table(
    ["가장 좋았던 모델 (시드 1개)", "한 걸음, 0.1", "10걸음, 0.3"],
    [[name, f"{one:.3f}", f"{ten:.3f}"] for name, (one, ten) in reader_rulers.items()],
)
assert all(ten > one > 0 for one, ten in reader_rulers.values())
assert reader_rulers["SAM"][1] < reader_rulers["AdamW"][1]

# %% [markdown]
r"""
10걸음으로 재면 SAM의 모델이 더 평탄합니다. 그래도 시험 점수에서는 SAM이 이겼다고 말할 수 없었습니다. 한 걸음의 값은 7.3절에서 보았듯 그레이디언트의 크기에 크게 좌우되므로, 이것으로는 결론을 내지 않습니다. 시드 하나에서 잰 값이기도 합니다.

### 8.5 무엇을 맞히고 무엇을 틀릴까요

숫자만 보지 말고 답을 읽습니다. 손으로 쓴 질문 5개와 템플릿으로 만든 질문 5개입니다.
"""

# %% tags=["folded"]
# 표: 질문 10개의 답, 질문별 점수와 사실별 점수
best_reader = runs["SAM"][0]
found, _ = find_answers(best_reader, dev_set)
by_kind = {kind: [pair for pair in found if pair[0].kind == kind] for kind in ["natural", "template"]}
picked = by_kind["natural"][::20][:5] + by_kind["template"][::24][:5]
show_table(
    ["질문", "예측", "정답", "EM", "F1"],
    [
        [
            one.question,
            ours,
            one.answer,
            int(exact_match(ours, one.answer)),
            f"{letter_f1(ours, one.answer):.2f}",
        ]
        for one, ours in picked
    ],
)
kinds = {
    kind: (
        mean(exact_match(ours, one.answer) for one, ours in pairs),
        mean(letter_f1(ours, one.answer) for one, ours in pairs),
        len(pairs),
    )
    for kind, pairs in by_kind.items()
}
for kind, name in [("template", "템플릿으로 만든 질문"), ("natural", "손으로 쓴 질문")]:
    em, f1, count = kinds[kind]
    print(f"{name} {count}개: EM {100 * em:.1f}, F1 {100 * f1:.1f}")
facts = {}
for one, ours in found:
    facts.setdefault(fact(one), []).append(exact_match(ours, one.answer))
several = [scores for scores in facts.values() if len(scores) > 1]  # 두 문장 이상으로 물은 사실
whole, some = mean(map(min, several)), mean(map(max, several))
print(
    f"두 문장 이상으로 물은 검증 사실 {len(several)}개: "
    f"모두 맞힘 {100 * whole:.1f}%, 하나라도 맞힘 {100 * some:.1f}%"
)
assert whole < some
test_found, test_loss = find_answers(best_reader, test_set)
test_em, test_f1 = score_pairs(test_found)
fact_em, fact_f1 = score_facts(test_found)
print(f"시험 데이터: 손실 {test_loss:.2f}")
print(f"  질문별({len(test_set)}개) EM {test_em:.1f}, F1 {test_f1:.1f}")
print(f"  사실별({len(set(map(fact, test_set)))}개) EM {fact_em:.1f}, F1 {fact_f1:.1f}")
assert test_f1 > untrained[2] + 10
assert kinds["template"][1] > kinds["natural"][1] + 0.05

# %% [markdown]
r"""
같은 사실이라도 묻는 문장에 따라 맞히기도 하고 틀리기도 합니다. 질문의 말이 지문의 말과 겹치면 잘 찾고, 바꾸어 말한 질문에는 약합니다. 사전 학습을 하지 않은 작은 모델의 한계일 수 있습니다. 에폭을 고를 때 검증 데이터를 썼으므로, 마지막 숫자는 무엇을 고르는 데도 쓰지 않은 시험 데이터로 쟀습니다.

연습 문제를 다 풀었으면 여러분의 `SAM`과 `train_qa`로 학습해 보세요. 한 에폭만 합니다.
"""

# %%
try:
    torch.manual_seed(0)
    model = Reader().to(device)
    sam = SAM(model.parameters(), torch.optim.AdamW, rho=0.1, lr=2e-3)
    result = train_qa(
        model,
        sam,
        LengthLoader(train_set, 8, shuffle=True),
        LengthLoader(dev_set, 32),
        epochs=1,
        accum_steps=2,
        checkpoint_path=folder / "mine.pt",
    )
    loss, em, f1 = score(model, dev_set)
    print(
        f"학습 손실 {result['train_losses'][0]:.2f}, 검증 손실 {result['dev_losses'][0]:.2f}, EM {em:.1f}, F1 {f1:.1f}"
    )
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"SAM과 train_qa를 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
### 8.6 사전 학습된 모델로 바꾸기

`Reader` 대신, 많은 글로 사전 학습된 모델을 씁니다. 이런 모델도 `model(**batch).loss`를 주므로 `train_qa`는 그대로입니다. 새로 쓰는 것은 글자와 토큰(token) 사이를 오가는 두 곳입니다.

- **넣을 때:** 빠른(fast) 토크나이저는 토큰마다 몇 번째 글자부터 몇 번째 글자까지인지(`offset_mapping`)를 알려 줍니다. 답의 글자와 겹치는 토큰이 답입니다. 긴 지문은 서로 `doc_stride`토큰씩 겹치는 조각으로 나눕니다. 답이 온전히 들어 있지 않은 조각은 관례대로 첫 토큰을 답으로 둡니다.
- **꺼낼 때:** 시작의 로짓이 높은 토큰과 끝의 로짓이 높은 토큰을 20개씩 짝지어, 순서가 뒤집혔거나 너무 긴 것을 버리고 점수의 합이 큰 차례로 놓습니다(n-best). 조각이 여럿이면 한데 모읍니다. 구절은 토큰을 이어 붙이지 않고 **지문의 글자 범위에서** 가져옵니다. 이어 붙이면 띄어쓰기가 달라집니다.

Transformers와 모델이 필요합니다. 설치는 `pip install transformers`이고, 아래의 `PRETRAINED`에 모델의 이름이나 내려받아 둔 폴더를 적습니다. 한국어 모델이고 빠른 토크나이저가 있으면 됩니다. CPU에서는 오래 걸리므로 질문 64개만 학습합니다.
"""

# %%
PRETRAINED = None  # 예: "klue/roberta-small"
SAVE_TO = folder / "pretrained"  # 끝나면 지워지는 폴더입니다. 남기려면 다른 곳을 적습니다
LONGEST, DOC_STRIDE = 384, 128  # 조각 하나의 토큰 수, 이웃한 조각이 겹치는 토큰 수


# %% tags=["folded"]
# 모델 불러오기, 조각 하나, 조각들의 배치
def load_pretrained(name):
    """(토크나이저, 모델)입니다. name은 모델의 이름이나 save_pretrained()로 저장한 폴더입니다."""
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForQuestionAnswering.from_pretrained(name).to(device)
    # BERT는 질문과 지문을 구별하는 번호도 받고, RoBERTa는 받지 않습니다. 토크나이저만 보아서는 모를 때가 있습니다
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    if getattr(model.config, "type_vocab_size", 1) > 1:
        tokenizer.model_input_names.append("token_type_ids")
    return tokenizer, model


class Piece(NamedTuple):
    """질문과, 지문의 한 조각입니다."""

    example: Example
    inputs: dict  # 토크나이저가 만든 input_ids 등
    places: list  # 토큰마다 지문의 글자 범위. 지문의 토큰이 아니면 None
    start: int  # 답의 첫 토큰과 끝 토큰. 답이 온전히 들어 있지 않으면 둘 다 0
    end: int


def collate_pieces(tokenizer, pieces):
    padded = tokenizer.pad([piece.inputs for piece in pieces], return_tensors="pt")
    starts, ends = torch.tensor([(piece.start, piece.end) for piece in pieces]).unbind(1)
    batch = {**padded, "start_positions": starts, "end_positions": ends}
    return {name: tensor.to(device) for name, tensor in batch.items()}


def piece_batches(tokenizer, pieces, size):
    return [collate_pieces(tokenizer, pieces[k : k + size]) for k in range(0, len(pieces), size)]


# %%
def cut_into_pieces(tokenizer, examples, longest, doc_stride):
    """질문마다 지문을 겹치는 조각으로 나눠 Piece의 리스트로 만듭니다. 답은 글자 범위에서 토큰의 자리로 옮깁니다."""
    encoded = tokenizer(
        [one.question for one in examples],
        [one.context for one in examples],
        truncation="only_second",  # 질문은 두고 지문만 나눕니다
        max_length=longest,
        stride=doc_stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    pieces = []
    for row, number in enumerate(encoded["overflow_to_sample_mapping"]):
        one, parts = examples[number], encoded.sequence_ids(row)  # 질문의 토큰은 0, 지문의 토큰은 1
        first, last = one.start, one.start + len(one.answer)
        places = encoded["offset_mapping"][row]
        places = [place if part == 1 else None for place, part in zip(places, parts, strict=True)]
        covering = [k for k, place in enumerate(places) if place and place[0] < last and place[1] > first]
        whole = covering and places[covering[0]][0] <= first and places[covering[-1]][1] >= last
        start, end = (covering[0], covering[-1]) if whole else (0, 0)
        inputs = {name: encoded[name][row] for name in tokenizer.model_input_names if name in encoded}
        pieces.append(Piece(one, inputs, places, start, end))
    return pieces


# %%
def candidates(piece, start_scores, end_scores, n_best=20, longest=30):
    """한 조각의 (점수, 구절) 후보입니다. 시작과 끝을 n_best개씩만 짝지어 봅니다."""
    inside = [k for k, place in enumerate(piece.places) if place]  # 답은 지문에만 있습니다
    starts = sorted(inside, key=lambda k: -start_scores[k])[:n_best]
    ends = sorted(inside, key=lambda k: -end_scores[k])[:n_best]
    return [
        (start_scores[s] + end_scores[e], piece.example.context[piece.places[s][0] : piece.places[e][1]])
        for s in starts
        for e in ends
        if s <= e < s + longest
    ]


@torch.no_grad()
def best_answers(model, tokenizer, pieces, n_best=20):
    """Example → 점수가 높은 차례로 놓은 (점수, 구절) n_best개입니다."""
    model.eval()
    found = {piece.example: [] for piece in pieces}
    for piece in pieces:
        output = model(**collate_pieces(tokenizer, [piece]))
        scores = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        found[piece.example] += candidates(piece, *scores, n_best)
    return {one: sorted(every, reverse=True)[:n_best] or [(-math.inf, "")] for one, every in found.items()}


# %%
if PRETRAINED is None:
    print("PRETRAINED가 비어 있어서 건너뜁니다.")
else:
    tokenizer, model = load_pretrained(PRETRAINED)
    chosen = random.Random(0).sample(train_set, 64 if on_cpu else len(train_set))
    train_pieces, dev_pieces = (
        cut_into_pieces(tokenizer, part, LONGEST, DOC_STRIDE) for part in (chosen, dev_set)
    )
    loaders = piece_batches(tokenizer, train_pieces, 8), piece_batches(tokenizer, dev_pieces, 32)
    sam = SAM(model.parameters(), torch.optim.AdamW, rho=0.05, lr=3e-5)
    print(train_qa(model, sam, *loaders, epochs=1, accum_steps=2, checkpoint_path=folder / "tuned.pt"))

    model.load_state_dict(torch.load(folder / "tuned.pt", weights_only=True))  # 가장 좋았던 에폭
    model.save_pretrained(SAVE_TO)
    tokenizer.save_pretrained(SAVE_TO)  # 다음에는 PRETRAINED에 이 폴더를 적습니다

# %% tags=["folded"]
# 표: 질문 하나의 후보 셋, 질문별 점수와 사실별 점수
if PRETRAINED is not None:
    answers = best_answers(model, tokenizer, dev_pieces)
    found = [(one, every[0][1]) for one, every in answers.items()]
    one, every = next(iter(answers.items()))
    print(f"{one.question} (정답: {one.answer})")
    show_table(["후보", "점수"], [[text, value] for value, text in every[:3]])
    show_table(
        ["검증", "EM", "F1"],
        [
            ["질문별", *(f"{value:.1f}" for value in score_pairs(found))],
            ["사실별", *(f"{value:.1f}" for value in score_facts(found))],
        ],
    )

# %% [markdown]
r"""
## 9. 버그 찾기

약 30분 · ★★☆

코드는 모두 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

### 루프 1

SAM과 누적을 함께 쓰는 학습 루프 전체입니다. 번호를 붙인 줄을 보고, 아래의 물음 3개에 하나씩 답합니다.
"""


# %% tags=["find-the-bug"]
def loop_1(model, sam, scheduler, train_batches, dev_batches, accum_steps, epochs, max_norm=0.1):
    dev_step_losses, dev_losses = [], []
    step = 0
    for epoch in range(epochs):
        model.train()
        for xb, yb in train_batches:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
            step += 1
            if step % accum_steps:
                continue
            clip_grad_norm_(model.parameters(), max_norm)  # 1
            sam.first_step(zero_grad=True)  # 2
            for _ in range(accum_steps):  # 3
                (loss_fn(model(xb), yb) / accum_steps).backward()
            sam.second_step(zero_grad=True)
            scheduler.step()  # 4
        model.eval()  # 5
        with torch.no_grad():  # 6
            for xb, yb in dev_batches:
                dev_step_losses.append(loss_fn(model(xb), yb).item())
        dev_losses.append(mean(dev_step_losses))  # 7
    return dev_losses


# %% [markdown]
r"""
**물음 1.** 업데이트를 틀리게 만드는 줄은 어느 것일까요?

- a: 1번 줄
- b: 3번 줄
- c: 4번 줄
"""

# %% tags=["predict"]
predict("04-bug1a")

# %% [markdown]
r"""
**물음 2.** 지워도 가중치가 그대로인 것은 어느 것일까요?

- a: 1번 줄
- b: 2번 줄의 `zero_grad=True`
- c: 3번 줄의 반복. 안쪽을 한 번만 실행합니다.
"""

# %% tags=["predict"]
predict("04-bug1b")

# %% [markdown]
r"""
**물음 3.** 가장 좋은 에폭을 잘못 고르게 만드는 줄은 어느 것일까요?

- a: 5번 줄
- b: 6번 줄
- c: 7번 줄
"""

# %% tags=["predict"]
predict("04-bug1c")


# %% tags=["folded"]
# 실험과 그림: 클리핑을 지운 것과 비교하고, 두 검증 손실을 나란히 그립니다
def run_loop_1(max_norm):
    """정답의 20%를 아무 숫자로 바꾼 160장으로 24에폭 학습하고 (코드가 말한 검증 손실, 마지막 가중치)를 돌려줍니다."""
    model = make_model(seed=12)
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    generator = torch.Generator().manual_seed(12)
    batches = [(xb, yb.clone()) for xb, yb in make_batches(seed=12, count=8, batch_size=20)]
    for _, yb in batches:
        yb[:4] = torch.randint(10, (4,), generator=generator).to(device)
    dev = list(zip(x_val.double().split(120), y_val.split(120), strict=True))
    said = loop_1(model, VectorSAM(model, opt), ExponentialLR(opt, 1.0), batches, dev, 4, 24, max_norm)
    return said, flat(model.parameters())


said, weights = run_loop_1(max_norm=0.1)
_, without_clip = run_loop_1(max_norm=math.inf)
# 지금까지의 평균 m에서 에폭마다의 값을 되찾습니다: k·m_k − (k−1)·m_{k−1}
true = [(k + 1) * said[k] - k * said[k - 1] if k else said[0] for k in range(len(said))]
said_best, true_best = said.index(min(said)) + 1, true.index(min(true)) + 1
print(f"클리핑을 지운 가중치와의 차이: {apart(weights, without_clip):.1e}")
print(f"코드가 고른 에폭 {said_best}, 진짜로 가장 좋은 에폭 {true_best}")

figure, axis = plt.subplots(figsize=(7.2, 3.2))
axis.plot(range(1, 25), said, "--", color=COLORS["wrong"], label="코드가 말한 검증 손실")
axis.plot(range(1, 25), true, color=COLORS["right"], label="에폭마다의 검증 손실")
axis.plot(said_best, min(said), "o", color=COLORS["wrong"], markersize=9)
axis.plot(true_best, min(true), "o", color=COLORS["right"], markersize=9)
axis.set(title="가장 좋은 에폭을 지나쳐 저장합니다", xlabel="에폭", ylabel="손실")
axis.legend()
show(
    figure,
    "코드가 말한 검증 손실은 지금까지의 평균이라 천천히 내려가서 늦은 에폭에서 가장 낮습니다. "
    "에폭마다의 검증 손실은 그보다 먼저 바닥을 치고 다시 올라갑니다. 두 점이 서로 다른 에폭에 있습니다.",
)
assert apart(weights, without_clip) < 1e-6  # 클리핑이 남긴 것은 반올림뿐입니다
assert said_best >= true_best + 3
assert true[said_best - 1] > min(true)

# %%
reveal("04-bug1a")

# %%
reveal("04-bug1b")

# %%
reveal("04-bug1c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

셋 모두 오류를 내지 않고, 손실은 내려갑니다. 이렇게 고칩니다.

1. 구간의 배치를 리스트에 모아 두었다가 두 번째 패스에서 **그 리스트를** 돕니다.
2. 클리핑을 `second_step` 바로 앞으로 옮깁니다.
3. 검증 손실의 합과 샘플 수를 에폭 안에서 0으로 시작합니다. 배치마다의 평균을 그냥 평균 내는 것도 마지막 배치가 작으면 틀립니다.

하나가 더 있습니다. `step`을 에폭마다 다시 세지 않으므로, 배치 수가 나누어떨어지지 않으면 구간이 에폭을 넘어갑니다. 검증과 저장이 구간 한가운데에 끼어들고, 마지막 에폭에 남은 배치는 쓰이지 않습니다.

</details>

### 루프 2

「입력을 들고 있지 않아도 되는 누적」이라는 코드입니다. 마이크로 배치마다 올라가서 두 번째 그레이디언트를 쌓고, 구간이 끝나면 되돌립니다. 마이크로 배치 네 개, **학습률 0**입니다. 가중치는 얼마나 움직일까요?

- a: 움직이지 않습니다.
- b: 꼭 $\rho$만큼
- c: $\rho$보다 멀리
"""


# %% tags=["find-the-bug"]
def loop_2(model, sam, window):
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
        sam.first_step(zero_grad=True)
        (loss_fn(model(xb), yb) / len(window)).backward()
    sam.second_step(zero_grad=True)


# %% tags=["predict"]
predict("04-bug2")

# %%
distances = []
for seed in range(8):
    model = make_model(seed)
    before = flat(model.parameters())
    loop_2(model, VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.0)), make_batches(seed, 4))
    distances.append((flat(model.parameters()) - before).norm().item() / 0.05)
print(f"학습률 0으로 움직인 거리 ÷ ρ: {min(distances):.2f} ~ {max(distances):.2f}")

# %% tags=["folded"]
# 확인: 시드 8개에서 움직인 거리
assert min(distances) > 1.1
reveal("04-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`first_step`이 불릴 때마다 「돌아갈 곳」이 지금 자리로 바뀝니다. 구간이 끝나면 첫 자리가 아니라 마지막에 올라가기 바로 앞의 자리로 돌아갑니다. `zero_grad=True`가 앞의 마이크로 배치가 쌓은 것까지 지우므로 업데이트도 마지막 배치의 4분의 1뿐입니다. 마이크로 배치마다 올라가는 4.2절의 알고리즘을 원했다면 **배치마다** 내려와야 합니다. 어느 쪽이든 학습률 0 시험에서 바로 걸립니다.

실제 사례: [nblt/F-SAM](https://github.com/nblt/F-SAM)의 `grad_accumulate` 브랜치도 돌아갈 곳을 이렇게 덮어씁니다. 그 코드는 두 번째 그레이디언트를 따로 모아 두므로, 지워지는 문제는 없습니다.

</details>

### 루프 3

5.3절에서 말한, SAM 객체를 스케일러에 통째로 넘기는 코드입니다. **두 번째** 패스가 넘쳤습니다. 이 함수가 끝났을 때 가중치는 어디에 있을까요?

- a: $w$
- b: $w + e$
- c: NaN
"""


# %% tags=["find-the-bug"]
class SteppingSAM(VectorSAM, torch.optim.Optimizer):
    """scaler.step()에 넘길 수 있게 step()을 붙였습니다."""

    def __init__(self, model, opt, rho=0.05):
        torch.optim.Optimizer.__init__(self, list(model.parameters()), {})
        VectorSAM.__init__(self, model, opt, rho)

    def zero_grad(self, set_to_none=True):
        self.opt.zero_grad(set_to_none)

    def step(self, closure=None):
        self.second_step(zero_grad=True)


def loop_3(model, sam, scaler, first_batch, second_batch):
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(first_batch[0]), first_batch[1])
    scaler.scale(loss).backward()
    sam.first_step(zero_grad=True)
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(second_batch[0]), second_batch[1])
    scaler.scale(loss).backward()
    scaler.step(sam)
    scaler.update()


# %% tags=["predict"]
predict("04-bug3")

# %%
model = make_model(seed=13).float()
before = flat(model.parameters())
scaler = torch.amp.GradScaler(device.type, init_scale=2.0**10)
xb, yb = make_batches(seed=13, count=1)[0]
sam = SteppingSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
loop_3(model, sam, scaler, (xb.float(), yb), (xb.float() * 1e6, yb))  # 16비트로 바꾸면 inf가 됩니다
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

### 루프 4

두 패스 모두 구간의 길이로 나누기를 빠뜨렸습니다. 마이크로 배치 네 개입니다. 바른 업데이트와 비교하면 어떨까요?

- a: 올라가는 거리도 업데이트도 네 배입니다.
- b: 올라가는 거리는 같고, 업데이트가 네 배입니다.
- c: 올라가는 거리가 네 배이고, 업데이트는 같습니다.
"""


# %% tags=["find-the-bug"]
def loop_4(model, sam, loss_fn, window, accum_steps):
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
    sam.first_step(zero_grad=True)
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
    sam.second_step(zero_grad=True)


# %% tags=["predict"]
predict("04-bug4")

# %%
undivided = recipe(loop_4)
print("h1, h2, h3, h4가 들어간 양:", undivided)

# %% tags=["folded"]
# 확인: 그레이디언트마다 들어간 양
assert undivided == [1.0] * 4  # 바른 SAM은 0.25씩입니다. 같은 w + e의 그레이디언트로 꼭 풀립니다
reveal("04-bug4")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

첫 번째 패스에는 「나누지 않아도 맞는」 줄이 많아서, 두 번째 패스도 그럴 것이라고 생각하기 쉽습니다. 구별하는 법은 하나입니다. **그 그레이디언트를 누가 읽을까요?** 첫 번째 것은 방향만 읽히고, 두 번째 것은 그대로 옵티마이저가 읽습니다. base 옵티마이저가 AdamW이면 네 배가 거의 지워져서 이 버그가 더 보이지 않습니다.

</details>

## 10. 화이트보드

약 15분 · ★★☆

위를 보지 말고 한 구간의 SAM 업데이트를 씁니다. `window`는 `(xb, yb)`의 리스트이고, 노름이 `max_norm`을 넘으면 클리핑합니다. `sam`에는 `first_step`, `second_step`, `zero_grad`가 있습니다. 다 쓴 다음 아래 셀을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""


# %% tags=["whiteboard"]
def window_from_memory(model, sam, loss_fn, window, max_norm): ...


# %% tags=["folded"]
# 채점: 손으로 계산한 업데이트와 비교합니다
def window_by_hand(model, windows, *, rho, lr, max_norm):
    """옵티마이저도 backward()도 없이 네 줄의 식을 그대로 계산합니다."""
    w = flat(model.parameters())
    for window in windows:
        g = gradient_at(model, w, window)
        h = gradient_at(model, w + rho * g / g.norm(), window)
        w = w - lr * h * min(1.0, max_norm / (h.norm().item() + 1e-6))
    return w


def grade_window(attempt):
    """구간 셋(마지막은 짧습니다)을 손 계산과 비교합니다."""
    batches = make_batches(seed=14, count=10)
    windows = [batches[:4], batches[4:8], batches[8:]]
    expected = window_by_hand(make_model(seed=14), windows, rho=0.05, lr=0.5, max_norm=0.3)
    model = make_model(seed=14)
    start = flat(model.parameters())
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
    for window in windows:
        attempt(model, sam, loss_fn, window, 0.3)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, second_step()을 부르지 않았습니다."
    if apart(result, expected) < 1e-9:
        return "두 패스가 모두 제자리에 있습니다. 구간 셋을 지난 가중치가 손 계산과 같습니다."
    return (
        f"움직이기는 했지만 손 계산과 {apart(result, expected):.0e}만큼 다릅니다. "
        "두 패스 사이에 그레이디언트를 지웠는지, 두 번째 패스가 구간을 전부 보는지, "
        "나누고 클리핑한 자리가 어디인지 확인해 보세요."
    )


print(grade_window(window_from_memory))
assert "움직이지 않았습니다" in grade_window(lambda *args: None)
assert "다릅니다" in grade_window(
    lambda model, sam, loss_fn, window, max_norm: loop_4(model, sam, loss_fn, window, 4)
)

# %% [markdown]
r"""
## 정리

| 부품 | 첫 번째 패스 ($w$) | 두 번째 패스 ($w + e$) |
|---|---|---|
| 마이크로 배치 | 구간 전부 | **구간 전부.** 리스트에 모아 둔 것을 다시 봅니다 |
| 개수로 나누기 | 없어도 같습니다 | 반드시. 크기가 다르면 샘플 수로 가중합니다 |
| 클리핑 | 쓸모없습니다 | 되돌리기 전이든 후든, base 옵티마이저의 스텝 앞 |
| 배치 정규화의 이동 통계량 | 바뀝니다 | 얼립니다. 구간에 한 번만 얼리고 풉니다 |
| 드롭아웃 마스크 | 난수 상태를 적어 둡니다 | 되돌리면 같은 마스크입니다. 다르게 두어도 되지만 알고 고릅니다 |
| 스케일러 | 배율을 되돌리지 않습니다 | 가중치를 되돌린 다음 `unscale_`, 클리핑, `step`, `update` |
| 스케줄러 | | 업데이트마다 한 번, base 옵티마이저에 겁니다 |
| 기록할 손실 | 여기에서 잰 것 | 일부러 나쁜 곳에서 잰 값이라 쓰지 않습니다 |

다섯 가지만 기억하세요.

1. 코드가 돌아가고 손실이 내려간다는 것은 증거가 아닙니다. 업데이트가 무엇으로 만들어졌는지 풀어 보거나, 큰 배치 하나와 비교합니다.
2. SAM을 가져다 쓰면 먼저 **학습률 0 시험**을 합니다. 비트까지 그대로여야 합니다.
3. 첫 번째 그레이디언트는 방향만, 두 번째 그레이디언트는 길이까지 쓰입니다. 부품의 자리는 여기에서 나옵니다.
4. SAM의 비용은 두 배의 계산과 가중치 한 벌입니다. 같은 시간을 쓴 상대, 똑같이 조정한 상대와 비교해야 합니다.
5. 첨예도는 측정법과 스케일에 따라 순서가 뒤집힙니다. 그레이디언트로 한 걸음, 최악, $\lambda_{\max}$ 가운데 무엇을 쟀는지 함께 말합니다.

## 더 읽을거리

- [Sharpness-Aware Minimization for Efficiently Improving Generalization](https://arxiv.org/abs/2010.01412): SAM과 m-첨예도의 원래 논문
- [ASAM](https://arxiv.org/abs/2102.11600): 가중치의 스케일에 흔들리지 않는 첨예도
- [davda54/sam](https://github.com/davda54/sam): 잘 알려진 PyTorch 구현. 누적([#3](https://github.com/davda54/sam/issues/3)), 배치 정규화([#17](https://github.com/davda54/sam/issues/17)), 스케일러([#7](https://github.com/davda54/sam/issues/7))에 관한 이슈도 읽어 보세요
- [Automatic Mixed Precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): `unscale_`을 업데이트마다 한 번 부르는 까닭
- [KorQuAD 1.0](https://korquad.github.io/category/1.0_KOR.html): 한국어 기계 독해 데이터와 채점 방법

## 여기까지 왔습니다

다섯 줄에서 시작해, 그 다섯 줄을 두 번 하는 알고리즘까지 왔습니다. 새 방법을 만나면 논문의 식보다 먼저 물어보세요. **이 줄은 무엇을 읽고 무엇을 바꿀까요?** 네 레슨의 버그는 이 물음으로 드러났습니다. 이 물음이 습관이 되도록 가끔 `clinic()`(터미널에서는 `grader clinic`)을 열어 틀린 코드를 고쳐 보세요. `grader clinic --real`에서는 공개 저장소에 실제로 있었던 버그를 만납니다.
"""
