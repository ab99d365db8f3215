# %% [markdown]
r"""
# Adam의 걸음

SGD는 그레이디언트(gradient)에 학습률(learning rate)을 곱해 그대로 뺍니다. 언어 모델에는 대개 Adam에 가중치 감쇠(weight decay)를 더한 AdamW를 씁니다. 둘은 한 스텝(step)에 얼마나 움직일까요?

**예측.** 손실(loss)에 1,000을 곱하고 첫 업데이트를 합니다. 그레이디언트는 1,000배가 됩니다. AdamW가 가중치(weight)를 옮기는 거리는 몇 배가 될까요?

- a: 1배
- b: 약 32배 ($\sqrt{1000}$)
- c: 1,000배
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 GPT와 이 노트북의 실험
import math
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.adam import adamw, first_move, gradient_at_start, moves_of, sgd
from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.outliers import PROGRAMS, growing_steps, memory_run, rogue_run
from grader.experiments.bells_and_whistles.stored import each, six_seeds
from grader.experiments.bells_and_whistles.weight_decay import PLAN, decay_run, unseen
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("03-3")

# %%
for make_opt in [sgd, adamw]:  # 둘 다 학습률 0.001입니다
    ratio = first_move(make_opt, scale=1000.0).norm() / first_move(make_opt, scale=1.0).norm()
    print(f"{make_opt.__name__}: 손실을 1,000배 하면 움직인 거리는 {ratio:.2f}배")

# %% tags=["folded"]
# 확인: 거리의 비, 그리고 가중치마다 움직인 양이 학습률의 몇 배인지
growth = {
    make_opt.__name__: (first_move(make_opt, 1000.0).norm() / first_move(make_opt, 1.0).norm()).item()
    for make_opt in (sgd, adamw)
}
moved = first_move(adamw, 1.0).abs() / 1e-3
close = ((moved - 1).abs() < 0.1).float().mean()
print(f"AdamW의 첫 업데이트에서 학습률의 0.9~1.1배 움직인 가중치: {close:.0%}")
assert 990 < growth["sgd"] < 1010
assert 0.9 < growth["adamw"] < 1.2
assert close > 0.8
assert moved.max() < 1.01
reveal("03-3")

# %% [markdown]
r"""
Adam과 AdamW는 그레이디언트 $g$를 그대로 쓰지 않고, 지난 값들과 섞은 이동 평균(moving average) 두 개를 들고 다닙니다. 새 값이 올 때마다 $m$은 $\beta_1 m + (1-\beta_1)\,g$로, $v$는 $\beta_2 v + (1-\beta_2)\,g^2$으로 바뀝니다. 기본값은 $\beta_1 = 0.9$, $\beta_2 = 0.999$입니다. 가중치는 학습률에 $m/\sqrt{v}$를 곱한 만큼 움직입니다.

둘 다 0에서 출발하므로 처음에는 너무 작습니다. 그래서 $t$번째 스텝에서는 $m$을 $1-\beta_1^t$으로, $v$를 $1-\beta_2^t$으로 나누어 씁니다(보정, bias correction). 첫 스텝에 넣어 보면 $m$은 $g$가, $v$는 $g^2$이 됩니다. 그래서 $m/\sqrt{v} = g/|g|$, **부호만 남습니다.** 가중치 대부분이 똑같이 학습률만큼 움직입니다.

## 1. 업데이트의 길이와 방향

약 12분 · ★★★

첫 업데이트 뒤의 업데이트는 얼마나 길까요? 학습률을 0.001로 고정하고 100스텝 동안 재 봅니다. 배치 하나가 정한 부호를 학습(training) 데이터 전체로 구한 그레이디언트와도 비교합니다. 두 방향이 얼마나 같은지는 코사인으로 봅니다. 같은 쪽이면 1, 직각이면 0, 반대쪽이면 -1입니다.

**예측.** 첫 업데이트의 길이는 백 번째쯤 업데이트의 몇 배일까요?

- a: 3분의 1쯤입니다.
- b: 학습률이 같으니 거의 같습니다.
- c: 세 배쯤입니다.
"""

# %% tags=["predict"]
predict("03-4")

# %%
lengths, turns = moves_of([1e-3] * 100)  # 업데이트의 길이 ÷ 학습률, 앞 업데이트와의 코사인
usual = median(lengths[80:])
print(f"첫 업데이트의 길이는 여든 번째가 지난 뒤의 {lengths[0] / usual:.1f}배")

whole = gradient_at_start(short_train)
single = gradient_at_start(next(batch_stream(short_train, seed=0)))
faint = whole.abs() < whole.abs().median()
same_sign = (single.sign() == whole.sign()).float()

# %% tags=["folded"]
# 표와 그림: 배치 하나의 부호를 전체 데이터의 부호와 비교하고, 업데이트의 길이와 방향을 그립니다
agree = {
    "그레이디언트가 큰 절반": same_sign[~faint].mean().item(),
    "그레이디언트가 작은 절반": same_sign[faint].mean().item(),
    "작은 절반 가운데 배치에서 0이 아닌 것": same_sign[faint & (single != 0)].mean().item(),
}
show_table(
    ["가중치", "배치 하나의 부호가 전체 데이터의 부호와 같은 비율"],
    [[k, f"{v:.0%}"] for k, v in agree.items()],
)
likeness = {
    "그레이디언트 그대로 (SGD)": F.cosine_similarity(single, whole, dim=0).item(),
    "부호만 (Adam의 첫 스텝)": F.cosine_similarity(single.sign(), whole, dim=0).item(),
}
show_table(
    ["업데이트의 방향", "전체 데이터의 방향과의 코사인"], [[k, f"{v:.2f}"] for k, v in likeness.items()]
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
axes[0].plot(lengths, color=COLORS["wrong"])
axes[0].axhline(usual, color=COLORS["muted"], linestyle="--", linewidth=1, label="80번째 뒤의 중앙값")
axes[0].legend(loc="upper right")
axes[0].set(title="첫 업데이트가 가장 깁니다", xlabel="스텝", ylabel="길이 ÷ 학습률", ylim=(0, None))
axes[1].plot(range(1, 100), turns, color=COLORS["right"])
axes[1].axhline(
    0.9, color=COLORS["muted"], linestyle="--", linewidth=1, label="방향이 제멋대로일 때 (β₁ = 0.9)"
)
axes[1].legend(loc="lower right")
axes[1].set(title="같은 쪽으로 이어서 갑니다", xlabel="스텝", ylabel="앞 업데이트와의 코사인", ylim=(0, 1.05))
show(
    figure,
    "왼쪽: 업데이트는 첫 스텝에서 가장 길고, 30스텝쯤 지나면 길이가 그 3분의 1 가까이에서 거의 평평해집니다. "
    "오른쪽: 처음 몇 스텝을 지나면 이웃한 두 업데이트는 거의 같은 쪽을 가리킵니다.",
)
assert agree["그레이디언트가 큰 절반"] > 0.75
assert 0.48 < agree["그레이디언트가 작은 절반"] < 0.6
assert 0.6 < agree["작은 절반 가운데 배치에서 0이 아닌 것"] < 0.75
assert likeness["그레이디언트 그대로 (SGD)"] > 0.85
assert likeness["부호만 (Adam의 첫 스텝)"] < 0.4
assert 2.5 < lengths[0] / usual < 5
assert lengths.index(max(lengths)) == 0
assert median(turns[4:20]) > 0.85
reveal("03-4")

# %% [markdown]
r"""
세 가지가 겹칩니다.

1. **길이:** 첫 업데이트는 나중의 세 배쯤입니다.
2. **방향:** 그레이디언트가 작은 절반에서 배치 하나의 부호가 맞는 것은 절반을 조금 넘을 뿐입니다. 배치에 없는 글자의 임베딩(embedding, 글자 하나를 나타내는 벡터)처럼 그레이디언트가 0이라 움직이지 않는 것을 빼고 세어도 3분의 2쯤입니다. 그런데도 이 절반의 가중치 대부분이 학습률만큼 움직입니다. 그레이디언트를 그대로 쓰면 전체 데이터의 방향과 거의 같은데, 부호만 남기면 크게 벗어납니다.
3. **쏠림:** 이동 평균이 방향을 기억하므로 이웃한 업데이트는 거의 같은 쪽으로 갑니다. 방향이 제멋대로인 그레이디언트여도 $\beta_1$이 0.9이면 이 코사인은 0.9쯤입니다(점선). 처음에는 그보다도 높고, 걸음까지 길어서 한쪽으로 멀리 갑니다.

이 레슨의 GPT가 어텐션(attention)의 쿼리(query), 키(key), 값(value)을 만드는 계층(layer)에 편향(bias)을 두지 않은 까닭도 여기에 있습니다. 어텐션은 쿼리와 키의 내적을 점수로 삼아 어느 값을 볼지 정합니다. 키의 편향은 쿼리마다 모든 점수에 같은 수를 더하는데, 모두에 같은 수를 더하면 softmax의 결과는 바뀌지 않습니다. 그러니 진짜 그레이디언트는 0입니다. 실제로는 반올림 오차가 남고, Adam은 그 부호를 따라 움직입니다.
"""

# %%
torch.manual_seed(0)
query, key, value, wanted = torch.randn(4, 8, 4, 32, 16).unbind(0)
key_bias = nn.Parameter(torch.zeros(16))
opt = torch.optim.AdamW([key_bias], lr=0.01)
mixed = F.scaled_dot_product_attention(query, key + key_bias, value)
(mixed * wanted).sum().backward()
opt.step()
print(f"키 편향의 그레이디언트: 최대 {key_bias.grad.abs().max():.0e}")
print(f"AdamW가 옮긴 거리: 최대 {key_bias.abs().max():.4f} (학습률 0.01)")
assert key_bias.grad.abs().max() < 1e-4
assert key_bias.abs().max() > 0.005

# %% [markdown]
r"""
## 2. 튀는 배치 하나

약 14분 · ★★☆

70번째 스텝의 배치 하나만 손실을 평균이 아니라 **합으로** 구했다고 하겠습니다. 이렇게 그레이디언트가 유난히 큰 배치를 튀는 배치(outlier batch)라고 합니다. 토큰이 512개이므로 그레이디언트가 512배입니다. 모멘텀(momentum) SGD는 이럴 때 무너집니다. AdamW는 그레이디언트를 자기 크기로 나눕니다.

한 번의 학습은 시드(seed)에 따라 달라지므로 시드 6개를 비교합니다. 앞의 시드만 지금 학습하거나 하나도 학습하지 않고, 나머지는 같은 코드로 미리 재어 둔 값을 읽습니다. 이 레슨의 비교는 모두 이런 식입니다.

**예측.** AdamW로 학습하고, 그레이디언트를 줄이지 않습니다. 튀는 배치 다음에 어떻게 될까요?

- a: 크기를 나누므로 아무 일도 없습니다. 보통 배치처럼 지나갑니다.
- b: 가중치가 512배 움직여 NaN이 됩니다.
- c: 몇 배 길게 움직인 다음, 오랫동안 걸음이 짧아집니다.
"""

# %% tags=["predict"]
predict("03-11")

# %%
rogue_runs = {}  # 조용한 컴퓨터에서 10초쯤 걸립니다
for name in PROGRAMS:  # 튀는 배치의 유무, 클리핑의 유무, AdamW와 모멘텀 SGD
    live = int(name.startswith("AdamW"))
    rogue_runs[name] = six_seeds(f"rogue {name}", partial(rogue_run, name), live=live)
    print(f"{name}: 그 스텝의 걸음은 보통의 {median(each(rogue_runs[name], 'leap')):.1f}배")

# %% tags=["folded"]
# 표와 그림: 튀는 배치 앞뒤의 걸음과 검증 손실, 시드 6개의 중앙값
rows = []
for name, runs in rogue_runs.items():
    seen = {what: median(each(runs, what)) for what in ("norm", "leap", "later", "before", "worst", "end")}
    steps = [f"{seen[what]:.1f}배" if seen[what] < 1000 else "발산" for what in ("leap", "later")]
    losses = [f"{seen[what]:.2f}" if seen[what] < 20 else "발산" for what in ("before", "worst", "end")]
    rows.append([name, f"{seen['norm']:.0f}", *steps, *losses])
show_table(
    [
        "학습",
        "70번째 그레이디언트의 노름",
        "그 스텝의 걸음",
        "110번째부터의 걸음",
        "검증 손실 (직전)",
        "검증 손실 (가장 높을 때)",
        "검증 손실 (끝)",
    ],
    rows,
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for name, color, style in [
    ("AdamW, 튀는 배치 없음", COLORS["muted"], ":"),
    ("AdamW, 클리핑 없음", COLORS["wrong"], "--"),
    ("AdamW, 클리핑", COLORS["right"], "-"),
]:
    run, label = rogue_runs[name][0], name.removeprefix("AdamW, ")
    usual = median(run["moves"][50:70])
    axes[0].plot(
        range(50, 130), [move / usual for move in run["moves"][50:]], style, color=color, label=label
    )
    axes[1].plot(run["curve"].keys(), run["curve"].values(), style, color=color, label=label)
for axis in axes:
    axis.axvline(70, color=COLORS["muted"], linewidth=1, zorder=0)
    axis.legend(loc="upper right")
axes[0].set(
    title="길게 갔다가, 오래 움츠러듭니다", xlabel="스텝", ylabel="걸음의 길이 (보통의 몇 배)", ylim=(0, 4.6)
)
axes[1].set(title="봉우리 하나로 끝나지 않습니다", xlabel="스텝", ylabel="검증 손실")
show(
    figure,
    "시드 0의 50번째 스텝부터입니다. 세로줄은 튀는 배치가 온 70번째 스텝입니다. 왼쪽: 클리핑하지 않으면 70번째 스텝에서 걸음이 세 배쯤으로 길어지고, 20스텝쯤 지나면 거꾸로 보통보다 짧아져 "
    "절반 아래까지 내려갑니다. 클리핑하면 튀는 배치가 없을 때와 비슷합니다. 오른쪽: 클리핑하지 않은 학습의 검증 손실은 3.3에서 4쯤으로 "
    "뛰었다가 천천히 내려옵니다.",
)
free, safe = rogue_runs["AdamW, 클리핑 없음"], rogue_runs["AdamW, 클리핑"]
# 튀는 배치는 m에 0.1, v에 0.001의 비율로 섞입니다. 보정은 둘을 각각 1 - 0.9ᵗ, 1 - 0.999ᵗ로 나눕니다
bound = 0.1 / math.sqrt(0.001 / (1 - 0.999**71))
print(
    f"튀는 스텝에서 가중치 하나가 움직인 양(제곱평균제곱근): 학습률의 {free[0]['rms']:.2f}배, 튀는 배치 하나로는 {bound:.2f}배까지"
)
assert 3.1 < 0.1 / math.sqrt(0.001) < 3.2  # 스텝이 아주 많이 쌓인 뒤
assert all(0.8 * bound < rms < 1.01 * bound for rms in each(free, "rms"))
assert all(2.5 < leap < 4.5 for leap in each(free, "leap"))
assert all(later < 0.6 for later in each(free, "later"))
assert all(run["worst"] > run["before"] + 0.4 for run in free)
calm_ends = each(rogue_runs["AdamW, 튀는 배치 없음"], "end")
assert all(run["end"] > calm_end + 0.15 for run, calm_end in zip(free, calm_ends, strict=True))
assert all(leap < 1.5 for leap in each(safe, "leap"))
assert all(run["end"] < run["before"] for run in safe)
assert all(worst > 20 for worst in each(rogue_runs["모멘텀 SGD, 클리핑 없음"], "worst"))
assert all(run["end"] < run["before"] for run in rogue_runs["모멘텀 SGD, 클리핑"])
reveal("03-11")

# %% [markdown]
r"""
그레이디언트가 아무리 커도 $m$과 $v$에 함께 들어가 크기가 지워집니다. 0부터 센 70번째 스텝, 곧 71번째 업데이트에서 튀는 배치 **하나**가 가중치를 옮기는 거리는 학습률의 0.8배쯤입니다. 스텝이 많이 쌓인 뒤라면 3.2배쯤입니다. 그래서 NaN이 되지는 않습니다. 대신 두 가지가 남습니다. $m$이 그 방향을 기억하는 동안 계속 그쪽으로 가고, $v$가 커진 동안 **보통 배치의 걸음이 짧아집니다.** 손실 곡선에 솟은 봉우리 하나로 끝나지 않습니다.

3.2배가 AdamW의 한도는 아닙니다. 그레이디언트가 한 번 튀지 않고 스텝마다 조금씩 커지면, $v$가 따라오지 못하는 동안 $m$에 같은 방향이 쌓입니다.
"""

# %%
grown = {}
for growth in [0.02, 0.05, 0.11]:  # 보통의 1,000스텝 다음에, 그레이디언트가 스텝마다 이만큼 커집니다
    grown[growth] = growing_steps(1 + growth)
    print(f"{growth:.0%}씩 커지면, 가장 긴 걸음은 학습률의 {grown[growth]:.1f}배")

# %% tags=["folded"]
# 확인: 한 번 튈 때보다 멀리 가고, 어떤 그레이디언트로도 넘지 못하는 곳이 있습니다
farthest = 0.1 / math.sqrt(0.001) / math.sqrt(1 - 0.9**2 / 0.999)  # 코시-슈바르츠 부등식
print(f"어떤 그레이디언트로도 학습률의 {farthest:.1f}배를 넘지 못합니다")
assert 4 < grown[0.02] < grown[0.05] < grown[0.11] < farthest
assert 7.2 < farthest < 7.3

# %% [markdown]
r"""
튀는 배치를 막는 것은 [클리핑](5_clipping.ipynb)의 몫입니다. 표에서 클리핑한 배치는 방향만 남기고 지나갔습니다.

## 3. 얼마나 오래 기억할까요

약 7분 · ★★★

$v$에서 한 배치의 몫은 스텝마다 $\beta_2$배로 줄어듭니다. 37%로 줄기까지 기본값 0.999에서는 1,000스텝쯤, 언어 모델에서 많이 쓰는 0.95에서는 20스텝쯤 걸립니다. 클리핑하지 않고 같은 튀는 배치를 넣은 다음, 튀는 배치가 없는 학습과 걸음의 길이를 비교합니다.

**예측.** 튀는 배치가 지나고 20스텝 뒤, $\beta_2$가 0.95인 쪽의 걸음은 어떨까요?

- a: 0.999와 비슷하게 짧습니다.
- b: 0.999의 두 배쯤으로 돌아와 있습니다.
- c: 거의 다 돌아와 있습니다.
"""

# %% tags=["predict"]
predict("03-16")

# %%
# 모두 미리 재어 둔 값입니다. live=1로 바꾸면 시드 0을 지금 학습합니다(설정 하나에 5초쯤)
memory = {
    beta2: six_seeds(f"memory beta2={beta2}", partial(memory_run, beta2), live=0) for beta2 in (0.999, 0.95)
}

# %% tags=["folded"]
# 표와 확인: 튀는 배치가 지나간 뒤의 걸음. 시드 6개의 중앙값입니다
late_marks = [f"{late}스텝 뒤" for late in (20, 40, 120, 190)]
show_table(
    ["β₂", *late_marks],
    [
        [beta2, *(f"{median(each(runs, mark)):.2f}배" for mark in late_marks)]
        for beta2, runs in memory.items()
    ],
)
assert all(ratio < 0.7 for runs in memory.values() for ratio in each(runs, "20스텝 뒤"))
assert abs(median(each(memory[0.95], "20스텝 뒤")) - median(each(memory[0.999], "20스텝 뒤"))) < 0.1
assert all(ratio < 0.55 for runs in memory.values() for ratio in each(runs, "40스텝 뒤"))
assert all(ratio < 0.5 for ratio in each(memory[0.999], "190스텝 뒤"))
assert all(ratio > 0.8 for ratio in each(memory[0.95], "190스텝 뒤"))
forgotten = {beta2: math.log((1 - beta2) * 512**2) / -math.log(beta2) for beta2 in memory}
for beta2, steps in forgotten.items():
    print(f"β₂ = {beta2}: 튀는 배치의 몫이 보통 배치의 제곱과 비슷해지는 데 어림으로 {steps:,.0f}스텝")
assert 0.35 < 0.999**1000 < 0.38
assert 0.35 < 0.95**20 < 0.38
assert 5000 < forgotten[0.999] < 6000
assert 180 < forgotten[0.95] < 190
reveal("03-16")

# %% [markdown]
r"""
20스텝 뒤에도, 40스텝 뒤에도 두 $\beta_2$의 걸음은 비슷하게 짧습니다. 그레이디언트가 512배이면 제곱은 26만 배이고, $\beta_2$가 0.95이면 $v$에는 그 5%, 곧 보통 배치의 제곱의 1만 3천 배가 섞입니다. 이것이 보통 배치의 제곱과 비슷한 크기로 줄려면, 20스텝마다 37%로 줄어도 어림으로 185스텝이 걸립니다. 0.999에서는 1,000스텝이 아니라 5천 스텝이 넘습니다. 그래서 차이는 나중에 납니다. 190스텝 뒤에 0.95의 걸음은 거의 돌아오고, 0.999의 걸음은 그때도 절반이 안 됩니다. $\beta_2$를 줄이면 **더 빨리 잊지만 곧바로 잊지는 않습니다.**

## 4. 가중치 감쇠는 어디에 걸까요

약 7분 · ★★☆

가중치 감쇠는 걸음과 따로 가중치를 줄이는 일입니다. AdamW는 스텝마다 가중치에 $1 - \text{학습률} \times \text{weight\_decay}$를 곱하고, 그레이디언트는 따로 적용합니다. 학습률의 감쇠와는 이름만 비슷합니다. 위에서 GPT를 학습한 AdamW는 모두 기본값 0.01을 모든 매개변수(parameter)에 썼습니다.

많은 코드가 매개변수 그룹을 둘로 나누어 행렬에만 감쇠를 걸고, 편향과 LayerNorm에는 걸지 않습니다. LayerNorm은 값을 평균 0, 분산 1로 맞춘 다음 배율을 곱하는 계층입니다. 배율은 1에서 출발하는데, 0 쪽으로 줄이면 계층의 출력이 통째로 작아집니다. 나눈 쪽과 나누지 않은 쪽을 180스텝씩 학습해 비교합니다. 학습 데이터에 한 번도 나오지 않는 글자의 임베딩도 함께 봅니다.

**예측.** 흔히 쓰는 세기 0.1로 180스텝을 학습합니다. 모두에 건 쪽의 검증 손실은 나눈 쪽과 어떻게 다를까요?

- a: 0.1 넘게 높습니다.
- b: 0.1 넘게 낮습니다.
- c: 차이가 0.01보다 작습니다.
"""

# %% tags=["predict"]
predict("03-17")

# %%
# 조용한 컴퓨터에서 5초쯤 걸립니다
decayed = {}
for weight_decay, split in [(0.0, False), (0.1, False), (0.1, True), (1.0, False), (1.0, True)]:
    key = f"decay {weight_decay} split={split}"  # split이면 이름에 norm이나 bias가 든 것에는 걸지 않습니다
    run = partial(decay_run, weight_decay, split)
    decayed[weight_decay, split] = six_seeds(key, run, live=int(key == "decay 1.0 split=False"))

# %% tags=["folded"]
# 표와 확인: 감쇠를 거는 곳과 세기. 시드 6개의 중앙값입니다
names = {False: "모두", True: "norm과 bias를 뺀 나머지"}
show_table(
    ["weight_decay", "거는 곳", "학습 손실", "검증 손실", "LayerNorm 배율의 평균", "안 나온 글자의 임베딩"],
    [
        [
            weight_decay,
            names[split] if weight_decay else "없음",
            *(f"{median(each(runs, what)):.2f}" for what in ("train", "val", "gain")),
            f"처음의 {median(each(runs, 'kept')):.0%}",
        ]
        for (weight_decay, split), runs in decayed.items()
    ],
)
print(f"학습 데이터에 나오지 않는 글자: {len(unseen)}가지")


def raised(one, other, what):
    """시드마다 other가 one보다 얼마나 높은지입니다."""
    return [b[what] - a[what] for a, b in zip(decayed[one], decayed[other], strict=True)]


for (weight_decay, _), runs in decayed.items():
    left = math.prod(1 - rate * weight_decay for rate in PLAN)
    assert all(math.isclose(kept, left, rel_tol=1e-3) for kept in each(runs, "kept"))
assert all(0 < gap < 0.03 for gap in raised((0.1, True), (0.1, False), "train"))
assert all(0 < gap < 0.03 for gap in raised((0.0, False), (0.1, True), "train"))
assert all(abs(gap) < 0.01 for gap in raised((0.1, True), (0.1, False), "val"))
assert all(gap > 0.05 for gap in raised((1.0, True), (1.0, False), "train"))
assert all(gap > 0.01 for gap in raised((1.0, True), (1.0, False), "val"))
assert all(gain < 0.75 for gain in each(decayed[1.0, False], "gain"))
assert all(0.98 < gain < 1.05 for gain in each(decayed[1.0, True], "gain"))
reveal("03-17")

# %% [markdown]
r"""
흔히 쓰는 0.1에서는 나누든 나누지 않든 학습 손실의 차이가 0.03보다 작고, 검증 손실은 구별할 수 없습니다. 180스텝은 감쇠가 쌓이기에 짧습니다. 1.0으로 열 배 키워야 차이가 보입니다. 모두에 걸면 LayerNorm의 배율이 0.67쯤까지 줄고, 시드 6개 모두 학습 손실도 검증 손실도 나눈 쪽보다 높습니다. 한편 이 짧은 학습에서 학습 손실이 가장 낮은 것은 감쇠하지 않은 쪽입니다. 그룹을 나누는 것은 손해를 줄이는 일이지, 감쇠가 이롭다는 증거가 아닙니다.

임베딩은 어느 쪽일까요? 학습에 나오지 않은 글자는 그레이디언트가 0인데도 감쇠만큼 줄어듭니다. 그래서 임베딩을 빼는 코드도 있습니다. 이 레슨은 **임베딩에도 겁니다.** 임베딩도 행렬이고, 출력 계층과 가중치를 함께 쓰는 모델에서는 둘을 가를 수 없기 때문입니다. nanoGPT도 차원이 둘 이상이면 모두 겁니다([nanoGPT의 `configure_optimizers`](https://github.com/karpathy/nanoGPT/blob/master/model.py)).

### 보너스. `weight_decay_groups`

약 25분 · ★★☆

위의 실험은 이름으로 골랐습니다. 이 모델에서만 맞는 방법입니다. 이번에는 이름에 기대지 않고, 어떤 모델이 와도 맞게 나눕니다. 차원이 둘 이상인 텐서에는 걸고, 나머지(편향, 정규화의 배율, 차원이 없는 스칼라)에는 걸지 않습니다. 임베딩에는 겁니다. 보는 것은 차원의 수뿐입니다. 행이 하나뿐인 행렬에도, `nn.LayerNorm((2, 3))`처럼 배율과 편향이 2차원인 정규화에도 겁니다. 옵티마이저(optimizer)에는 기본값이 있으니 걸지 않는 그룹에도 값을 적습니다.

빈 그룹은 넣지 않습니다. 그래서 모두 얼린 모델이면 빈 리스트입니다. 여러 곳에서 함께 쓰는 가중치는 한 번만 넣습니다. 두 번 넣으면 옵티마이저가 경고를 하거나 오류를 냅니다. 그룹 안의 순서를 `model.parameters()`와 같게 두는 까닭은 체크포인트에 있습니다. 옵티마이저의 `state_dict`는 매개변수를 이름이 아니라 순서로 찾습니다.

보너스 문제는 채점만 하고 점수에 넣지 않습니다. 힌트도 없습니다.
"""


# %% tags=["exercise:weight_decay_groups"]
def weight_decay_groups(model, weight_decay) -> list[dict]:
    """AdamW에 넘길 매개변수 그룹의 리스트를 돌려줍니다. 그룹은 "params"와 "weight_decay"가 있는 dict입니다.

    첫 그룹    차원이 둘 이상인 매개변수(임베딩도)입니다. weight_decay는 받은 값입니다. 0이어도 똑같이 나눕니다.
    둘째 그룹  나머지입니다. weight_decay는 0.0입니다.

    그룹 안의 순서는 model.parameters()의 순서입니다. 얼린(requires_grad가 거짓인) 매개변수는 어느 그룹에도 넣지 않습니다.
    여러 곳에서 함께 쓰는 매개변수는 한 번만 넣습니다. 빈 그룹은 빼므로 리스트의 길이는 0, 1, 2 가운데 하나입니다.
    """
    # BEGIN SOLUTION
    # model.parameters()는 함께 쓰는 가중치를 한 번만 줍니다
    trained = [param for param in model.parameters() if param.requires_grad]
    decaying = [param for param in trained if param.ndim >= 2]
    rest = [param for param in trained if param.ndim < 2]
    groups = [{"params": decaying, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
    # END SOLUTION


# %% tags=["check"]
check(weight_decay_groups)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- Adam이 한 스텝에 얼마나, 어느 쪽으로 움직이는지 말합니다.
- 튀는 배치가 $m$과 $v$에 무엇을 남기는지, $\beta_2$가 무엇을 바꾸는지 압니다.
- 가중치 감쇠를 걸 매개변수를 고릅니다.

옵티마이저의 이야기는 여기까지입니다. 쉬어 가기 좋습니다. [다음: 워밍업](3_warmup.ipynb)에서는 처음 몇 스텝을 천천히 가는 것이 언제 왜 효과가 있는지 잽니다.
"""
