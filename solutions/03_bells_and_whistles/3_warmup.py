# %% [markdown]
r"""
# 워밍업

「처음에는 가중치(weight)가 제멋대로라 불안정하니 학습률(learning rate)을 낮게 시작한다.」 자주 듣는 설명이지만 무엇이 불안정한지는 말하지 않습니다. 워밍업(warmup)이 언제 효과가 있는지 재고, 왜 그런지 하나씩 떼어 봅니다.

**예측.** 작은 GPT를 100스텝(step) 학습(training)합니다. 학습률의 정점은 0.001이나 0.006입니다. 처음 40스텝을 워밍업으로 쓰면, 쓰지 않을 때와 비교해 마지막 학습 손실(loss)은 어떻게 될까요?

- a: 정점이 0.006일 때만 낮아집니다.
- b: 둘 다 낮아집니다.
- c: 정점이 0.001일 때만 낮아집니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 GPT와 스케줄 실험
import math
from functools import partial
from statistics import median

import torch
from matplotlib import pyplot as plt

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.curvature import MARKS, curvature_run, largest_curvature
from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import flat, make_gpt
from grader.experiments.bells_and_whistles.schedules import fill_only, move_only
from grader.experiments.bells_and_whistles.stored import each, schedule_runs, six_seeds, spelled
from grader.experiments.bells_and_whistles.training import climb_then, train_with
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("03-5")

# %%
warm = {}
for peak in [0.001, 0.006]:
    for warmup in [0, 40]:
        warm[peak, warmup] = schedule_runs("상수", peak=peak, warmup=warmup, total=100, live=1)
        print(
            f"정점 {peak}, 워밍업 {warmup:2}스텝: 마지막 배치 10개의 손실 {spelled(each(warm[peak, warmup]))}"
        )

# %% tags=["folded"]
# 그림과 확인: 정점마다 워밍업이 있을 때와 없을 때
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for axis, peak in zip(axes, [0.001, 0.006], strict=True):
    for warmup, color, style in [(0, COLORS["wrong"], "--"), (40, COLORS["right"], "-")]:
        label = f"워밍업 {warmup}스텝" if warmup else "워밍업 없음"
        axis.plot(warm[peak, warmup][0]["curve"], style, color=color, linewidth=1.2, label=label)
    axis.set(title=f"정점 {peak}: 워밍업이 {'손해' if peak == 0.001 else '이득'}입니다", xlabel="스텝")
axes[0].set_ylabel("배치 손실")
axes[0].legend(loc="upper right")
show(
    figure,
    "시드 0의 배치 손실. 왼쪽, 정점 0.001: 워밍업이 없는 쪽이 먼저 내려가고 끝까지 조금 더 낮습니다. "
    "오른쪽, 정점 0.006: 워밍업이 없으면 10스텝쯤까지 빨리 내려가다가 4.5쯤에서 느려져 끝까지 3 위에 머물고, "
    "워밍업이 있으면 20스텝쯤에 앞질러 3 아래까지 내려갑니다.",
)
assert median(each(warm[0.006, 0])) - median(each(warm[0.006, 40])) > 0.4
assert min(each(warm[0.006, 0])) > 3
assert sum(loss < 3 for loss in each(warm[0.006, 40])) >= 5
assert all(loss < 5 for loss in each(warm[0.006, 0]))  # 발산한 것은 아닙니다
pairs = zip(each(warm[0.001, 40]), each(warm[0.001, 0]), strict=True)
assert all(0 < slow - fast < 0.4 for slow, fast in pairs)
reveal("03-5")

# %% [markdown]
r"""
## 1. 언제 이득일까요

약 6분 · ★★☆

숫자 6개는 시드(seed) 6개입니다. 맨 앞의 것은 방금 학습했고, 나머지는 미리 재어 둔 값입니다.

정점 0.006에서 워밍업을 빼도 발산하지 않고 NaN도 나지 않습니다. **조금 배우다가 멈춥니다.** 손실이 6에서 4 아래로 내려왔으니 나란히 놓고 보지 않으면 정상으로 보입니다. 워밍업을 하면 시드 6개 가운데 적어도 5개가 3 아래까지 내려갑니다. 반대로 정점이 0.001이면 워밍업은 6개 모두에서 손해입니다.

## 2. 왜 효과가 있을까요

약 10분 · ★★★

[Adam의 걸음](2_adam_steps.ipynb)에서 보았듯이 AdamW의 첫 업데이트는 길고, 부호만 남고, 한쪽으로 이어집니다. 워밍업을 쓰면 이 초반을 낮은 학습률로 지납니다. 그러면서 두 가지 일을 한꺼번에 합니다. 여러 배치로 이동 평균 $m$과 $v$를 채우고, 가중치를 조금씩 옮깁니다. 어느 쪽 덕분인지, 둘 다 있어야 하는지 떼어 보겠습니다.

- **(가) 채우기만:** 40스텝 동안 학습률을 0으로 둡니다. $m$과 $v$는 채워지고 가중치는 그대로입니다. 그다음 바로 0.006으로 60스텝을 갑니다.
- **(나) 옮기기만:** 워밍업 40스텝을 그대로 합니다. 그다음 옵티마이저(optimizer)를 새로 만들어 $m$과 $v$를 비우고, 0.006으로 60스텝을 갑니다.

**예측.** 시드 6개 가운데 적어도 5개에서 마지막 학습 손실이 3 아래로 내려가는 것은 어느 쪽일까요?

- a: (가)만
- b: (나)만
- c: 둘 다
- d: 둘 다 아닙니다.
"""

# %% tags=["predict"]
predict("03-6")

# %%
filled = six_seeds("fill_only", fill_only, live=1)
shifted = six_seeds("move_only", move_only, live=1)
print("(가) 채우기만:", spelled(each(filled)))
print("(나) 옮기기만:", spelled(each(shifted)))

# %% tags=["folded"]
# 표와 확인: 네 가지 출발을 나란히 놓습니다. 학습률이 0이면 가중치가 정말 그대로인지도
show_table(
    ["정점 0.006으로 가기 전 40스텝", "m과 v", "가중치", "마지막 학습 손실의 중앙값 (시드 6개)"],
    [
        ["없음", "비어 있음", "처음 그대로", median(each(warm[0.006, 0]))],
        ["(가) 학습률 0", "채움", "처음 그대로", median(each(filled))],
        ["(나) 워밍업, 옵티마이저를 새로", "비어 있음", "옮김", median(each(shifted))],
        ["워밍업", "채움", "옮김", median(each(warm[0.006, 40]))],
    ],
)
still = make_gpt(0)
there = flat(still.parameters())
opt = torch.optim.AdamW(still.parameters())
train_with([0.0] * 3, still, opt, batch_stream(short_train, 0))
assert torch.equal(flat(still.parameters()), there)
assert all(opt.state[p]["exp_avg_sq"].any() for p in still.parameters())
assert min(each(filled)) > 3.3
assert median(each(filled)) > median(each(warm[0.006, 0])) - 0.1
assert sum(loss < 3 for loss in each(shifted)) >= 5
reveal("03-6")

# %% [markdown]
r"""
「워밍업 동안 $m$과 $v$에 여러 배치가 섞여서」라는 설명이 흔합니다. 그런데 재어 보니 달랐습니다. $m$과 $v$를 채워도 가중치가 처음 자리에 있으면 멈추고, $m$과 $v$를 비워도 가중치가 옮겨져 있으면 내려갑니다. 여기에서 워밍업이 한 일은 이동 평균을 채운 것이 아니라 **크게 업데이트해도 손실이 튀지 않는 곳까지 가중치를 옮긴 것**입니다. 처음 자리에서 거칠게 출발한 학습은 100스텝 안에 빠져나오지 못했습니다.

## 3. 그곳은 덜 휘었을까요

약 8분 · ★★★

그곳은 왜 큰 걸음을 견딜까요? 여기에서 답하지 못한 물음입니다. $v$를 만든 배치가 적어 걸음이 들쭉날쭉한 것을 원인으로 보는 설명이 있습니다([Liu 외, 2019](https://arxiv.org/abs/1908.03265)). 그러나 (가)는 배치 40개로 $v$를 채우고도 멈췄으니, 이 실험은 그것만으로 설명되지 않습니다. 곡률로 답하는 연구도 있습니다. 손실이 가파르게 휜 곳일수록 쓸 수 있는 학습률이 낮고([Cohen 외, 2021](https://arxiv.org/abs/2103.00065)), 학습률을 천천히 올리면 학습이 덜 휜 쪽으로 갈 틈이 생긴다는 것입니다([Gilmer 외, 2021](https://arxiv.org/abs/2110.04369), [Kalra와 Barkeshli, 2024](https://arxiv.org/abs/2406.09405)). 이 모델도 그런지 재어 봅니다.

재는 것은 **가장 큰 곡률** $\lambda_{\max}$입니다. 손실을 두 번 미분한 행렬(헤세 행렬, Hessian)의 가장 큰 고윳값이고, 클수록 가장 가파른 방향으로 급하게 휘어 있습니다. 어떻게 재는지는 [04](../04_sam_accumulation/6_flatter.ipynb)에서 다룹니다. 언제나 같은 32조각의 손실로, 처음과 60스텝까지의 일곱 곳에서 잽니다. 정점 0.006에 워밍업이 없을 때와 있을 때, 그리고 워밍업 없이도 잘 내려가는 정점 0.003을 비교합니다.
"""

# %%
curved = {}
for peak, warmup in [(0.006, 0), (0.006, 40), (0.003, 0)]:
    rates = climb_then("상수", peak=peak, warmup=warmup, total=100)
    key = f"curvature peak={peak} warmup={warmup}"
    curved[peak, warmup] = six_seeds(key, partial(curvature_run, rates), live=0)
    medians = [median(each(curved[peak, warmup], str(mark))) for mark in MARKS]
    print(f"정점 {peak}, 워밍업 {warmup:2}스텝: λmax의 중앙값 {spelled(medians, 0)}")
print("잰 스텝:", *MARKS)

# %% tags=["folded"]
# 그림과 확인: λmax는 모두 미리 재어 둔 값입니다. 맨 처음의 값 하나만 지금 다시 재어 맞추어 봅니다
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
for axis, ((peak, warmup), runs), color in zip(
    axes, curved.items(), ("wrong", "right", "third"), strict=True
):
    for run in runs:
        axis.plot(MARKS, list(run.values()), color=COLORS[color], linewidth=0.8, alpha=0.6)
    middle = [median(each(runs, str(mark))) for mark in MARKS]
    axis.plot(MARKS, middle, color=COLORS[color], linewidth=2.4, marker="o", markersize=4)
    if warmup:
        axis.axvspan(0, warmup, color=COLORS["grid"], alpha=0.6)
    title = f"{peak}, 워밍업 {warmup}스텝" if warmup else f"{peak}, 워밍업 없음"
    axis.set(title=title, xlabel="스텝", yscale="log")
axes[0].set_ylabel("λmax")
show(
    figure,
    "가장 큰 곡률, 세로축은 로그. 가는 선은 시드 6개, 굵은 선은 중앙값. 왼쪽, 정점 0.006에 워밍업 없음: 30대에서 시작해 4스텝 만에 "
    "한 시드를 빼고 10 아래로 떨어지고, 시드 하나는 12스텝에서 1,000을 넘습니다. 가운데, 워밍업 40스텝(칠한 곳): 4스텝에서 조금 "
    "올랐다가 10 안팎으로 내려가고, 다시 올라 워밍업이 끝날 때는 30쯤입니다. 오른쪽, 정점 0.003에 워밍업 없음: 시드마다 크게 "
    "오르내리고, 시드 하나는 8스텝에서 1,000을 넘습니다.",
)
rough, gentle, modest = curved.values()
now = largest_curvature(make_gpt(0))
assert all(abs(runs[0]["0"] / now - 1) < 0.1 for runs in curved.values())
assert sum(run["4"] < 10 for run in rough) == 5
flatter = {
    mark: sum(a < b for a, b in zip(each(rough, str(mark)), each(gentle, str(mark)), strict=True))
    for mark in MARKS
}
assert min(flatter[mark] for mark in (4, 8, 28, 40)) >= 5
assert flatter[12] <= 1
assert all(run["12"] < 0.6 * run["0"] for run in gentle)
assert all(0.7 < run["40"] / run["0"] < 1.1 for run in gentle)
assert [max(run.values()) > 1000 for run in rough] == [True] + [False] * 5
assert [max(run.values()) > 1000 for run in modest] == [False] * 3 + [True] + [False] * 2
assert max(each(schedule_runs("상수", peak=0.003, warmup=0, total=100, live=0))) < 3

# %% [markdown]
r"""
워밍업의 앞부분은 Gilmer 외의 설명과 맞습니다. 12스텝에 이르면 시드 6개 모두 $\lambda_{\max}$가 처음의 0.6배 아래입니다. 그러나 학습률이 마저 오르는 동안 다시 커져서, **워밍업이 끝나 정점에 이를 때는 처음의 0.7~1.1배**입니다. 거칠게 출발한 쪽이 늘 더 휜 곳에 있는 것도 아닙니다. 적어도 5개의 시드에서, 워밍업이 없는 쪽의 $\lambda_{\max}$가 12스텝에는 더 높지만 4·8·28·40스텝에는 더 낮습니다. 1,000을 넘는 일은 0.006에서 한 번, 0.003에서 한 번 있었는데, 0.003의 그 시드의 손실은 3 아래까지 내려갔습니다.

그러니 여기에서 $\lambda_{\max}$의 높낮이만으로는 큰 걸음을 견디는 곳과 그렇지 못한 곳을 가릴 수 없습니다. 다만 잰 것은 여덟 스텝의 값이고, 그 사이의 일은 모릅니다. Adam은 가중치마다 걸음을 $\sqrt{v}$로 나누므로, 곡률도 그렇게 나누어 보아야 한다는 연구가 있습니다([Cohen 외, 2022](https://arxiv.org/abs/2207.14484)). 드문 글자의 임베딩은 $v$가 0에 가까워 그 몇 개가 값을 좌우하므로, 여기에서는 재지 않았습니다.

## 4. 정점부터 재 보세요

약 4분 · ★★☆

정점과 워밍업과 클리핑을 모두 바꾸어 재어 둔 값입니다. 칸마다 시드 6개의 중앙값입니다. 클리핑은 [다다음 노트북](5_clipping.ipynb)에서 다룹니다.
"""

# %% tags=["folded"]
# 표와 확인: 정점 3개 × 워밍업 2가지 × 클리핑 2가지 × 시드 6개. 모두 미리 재어 둔 값입니다
grid = {
    (peak, warmup, clip_from): schedule_runs(
        "상수", peak=peak, warmup=warmup, total=100, clip_from=clip_from, live=0
    )
    for peak in (0.001, 0.003, 0.006)
    for warmup in (0, 40)
    for clip_from in (math.inf, 0)
}
show_table(
    ["정점", "워밍업", "클리핑", "학습 손실", "검증 손실"],
    [
        [
            peak,
            f"{warmup}스텝" if warmup else "없음",
            "없음" if clip_from else "처음부터",
            *(f"{median(each(runs, what)):.2f}" for what in ("train", "val")),
        ]
        for (peak, warmup, clip_from), runs in grid.items()
    ],
)
middle, high = (median(each(grid[setting])) for setting in [(0.003, 0, math.inf), (0.006, 40, math.inf)])
assert abs(middle - high) < 0.05
val_medians = {setting: median(each(runs, "val")) for setting, runs in grid.items()}
assert min(val_medians, key=val_medians.get) == (0.003, 0, 0)
assert val_medians[0.003, 0, math.inf] < val_medians[0.006, 40, math.inf]
assert median(each(grid[0.006, 0, 0])) < median(each(grid[0.006, 0, math.inf])) - 0.3
assert all(loss < 3 for loss in each(grid[0.006, 40, 0]))

# %% [markdown]
r"""
워밍업은 공짜 안전장치가 아니라 **더 높은 학습률을 쓰려고 치르는 값**입니다. 그리고 여기서는 그 값을 치르고 얻은 것이 없습니다. 정점을 0.003으로 낮추면 워밍업 없이도 0.006에 워밍업을 한 만큼 내려가고, 검증(validation) 손실의 중앙값은 오히려 조금 낮습니다. 워밍업 없이 클리핑만 해도 0.006에서 잃은 것의 절반쯤을 되찾습니다. 남의 설정에서 워밍업의 길이만 옮겨 오지 말고, 정점부터 몇 가지 재 보세요.

## 5. 정점에서 내려오는 두 가지 모양

약 4분 · ★★☆

워밍업이 끝나면 대개 정점에서 가장 낮은 값까지 학습률을 내립니다. 코사인의 반 주기와 직선, 두 가지 모양을 많이 씁니다.

**예측.** 시작과 끝이 같은 두 내리막의 **평균 학습률**은 어느 쪽이 높을까요?

- a: 직선
- b: 같습니다.
- c: 코사인
"""

# %% tags=["predict"]
predict("03-7")

# %%
SHAPES = {"상수": ("wrong", ":"), "코사인": ("right", "-"), "직선": ("third", "--")}
drawn = {shape: climb_then(shape, peak=0.01, warmup=40, total=180) for shape in SHAPES}
for shape in SHAPES:
    print(f"{shape}: 내리막 140스텝의 평균 학습률 {sum(drawn[shape][40:]) / 140:.5f}")

# %% tags=["folded"]
# 그림과 확인: 학습률 곡선 셋
figure, axis = plt.subplots()
for shape, (color, style) in SHAPES.items():
    axis.plot(drawn[shape], style, color=COLORS[color], label=shape)
axis.axvspan(0, 40, color=COLORS["grid"], alpha=0.6)
axis.text(2, 0.0093, "워밍업", color=COLORS["muted"])
axis.set(title="코사인과 직선은 양 끝과 가운데에서 만납니다", xlabel="스텝", ylabel="학습률")
axis.legend(loc="lower center")
show(
    figure,
    "학습률 곡선 셋. 모두 40스텝 동안 곧게 올라 정점 0.01에 이릅니다. 그 뒤 상수는 머물고, 코사인은 처음에 직선보다 높다가 "
    "가운데에서 만나고 끝에서는 더 낮으며, 마지막 스텝에서 둘 다 바닥에 닿습니다.",
)
for shape in ["코사인", "직선"]:
    assert drawn[shape][0] == 3e-5
    assert drawn[shape][40] == 0.01
    assert math.isclose(drawn[shape][179], 1e-6, rel_tol=1e-9)
    assert all(later < earlier for earlier, later in zip(drawn[shape][40:], drawn[shape][41:], strict=False))
average = {shape: sum(drawn[shape][40:]) / 140 for shape in SHAPES}
assert math.isclose(average["코사인"], average["직선"], rel_tol=1e-9)
assert drawn["코사인"][75] > drawn["직선"][75]
assert drawn["코사인"][145] < drawn["직선"][145]
reveal("03-7")

# %% [markdown]
r"""
### 연습. `lr_at`

약 30분 · ★★☆

리스트를 만들지 않고, `step` 하나를 받아 그 스텝의 학습률을 돌려줍니다. 끝을 어떻게 맞출지가 문제입니다. 스텝이 0부터 시작하므로 마지막 스텝은 `total_steps − 1`입니다. **마지막 업데이트가 정확히 `min_lr`을 씁니다.** 워밍업이 전체와 같거나 한 스텝 짧으면 내리막의 분모가 0 이하가 됩니다. 식을 쓰기 전에 그 두 경우를 어디에서 거를지 정하세요.
"""


# %% tags=["exercise:lr_at"]
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    """step번째 업데이트(0부터)에 쓸 학습률입니다.

    step < warmup_steps        initial_lr에서 peak_lr로 곧게 올라갑니다. step = warmup_steps에서 peak_lr입니다.
    그 뒤                      peak_lr에서 min_lr로 내려갑니다. decay는 "cosine"이나 "linear"입니다.
    step ≥ total_steps − 1     min_lr입니다. 단, step < warmup_steps이면 오르막이 먼저입니다.

    warmup_steps는 0일 수도, total_steps일 수도 있습니다. 모르는 decay에는 어느 스텝에서든 ValueError를 냅니다.
    아주 작은 학습률도 반올림하지 않습니다.
    """
    # BEGIN SOLUTION
    if decay not in ("cosine", "linear"):
        raise ValueError(f"decay는 'cosine'이나 'linear'입니다: {decay!r}")
    # 1. 워밍업: 곧은 오르막
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    # 2. 마지막 스텝부터는 바닥
    if step >= total_steps - 1:
        return min_lr
    # 3. 감쇠: 내리막을 얼마나 왔는지(0~1)로 남은 높이를 구합니다
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - progress
    if decay == "cosine":
        height = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * height
    # END SOLUTION


# %% tags=["check"]
check(lr_at)

# %% [markdown]
r"""
## 6. 버그 찾기

약 5분 · ★★☆

널리 읽히는 글과 코드에 되풀이해 나오는 오류입니다. 코드는 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

코사인 감쇠(cosine decay)를 쓴 함수입니다. 정점 1.0, 바닥 0.01, 전체 10스텝, 워밍업 4스텝입니다. 마지막 업데이트의 학습률은 얼마일까요?

- a: 0
- b: 0.01
- c: 0.01의 일곱 배쯤
"""


# %% tags=["find-the-bug"]
def rate_at(step, warmup_steps, total_steps, peak_lr, min_lr):
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


# %% tags=["predict"]
predict("03-bug2")

# %%
rows = []
for total_steps in [10, 100, 1000]:
    warmup_steps = round(0.4 * total_steps)
    ending = rate_at(total_steps - 1, warmup_steps, total_steps, 1.0, 0.01)
    rows.append([total_steps, f"{ending:.5f}", f"{ending / 0.01:.2f}배"])
show_table(["전체 스텝", "마지막 업데이트의 학습률", "바닥 0.01의 몇 배"], rows)

# %% tags=["folded"]
# 확인: 전체 스텝 수에 따른 마지막 학습률
assert 0.07 < rate_at(9, 4, 10, 1.0, 0.01) < 0.08
assert 0.01 < rate_at(999, 400, 1000, 1.0, 0.01) < 0.0101
assert rate_at(10, 4, 10, 1.0, 0.01) == 0.01
reveal("03-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

내리막의 칸 수는 `total_steps - warmup_steps`보다 하나 적습니다. 울타리 기둥이 열 개면 사이는 아홉 칸입니다. 1,000스텝이면 차이가 1%도 되지 않아 무시해도 됩니다. 10스텝이면 일곱 배가 넘습니다. 널리 읽히는 글의 코드는 한 스텝에 오르는 양을 미리 나눗셈으로 구해 두어서, 워밍업이 0이면 0으로 나누는 오류도 납니다.

어느 쪽으로 정해도 되지만 **문서에 적은 것과 같아야** 합니다. `lr_at`은 마지막 업데이트가 `min_lr`을 쓰기로 정했습니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 워밍업이 언제 이득이고 언제 손해인지 말하고, 정점부터 재 봅니다.
- 학습률 스케줄을 식 하나로 쓰고, 양 끝의 값을 한 스텝도 어긋나지 않게 맞춥니다.

오르막은 끝났습니다. 여기서 쉬기에 좋습니다. [다음: 감쇠](4_decay.ipynb)에서는 내리막이 무엇을 주는지 잽니다.
"""
