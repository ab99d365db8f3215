# %% [markdown]
r"""
# AdamW를 손으로

약 5분 · ★★☆

AdamW는 (3절의 감쇠를 빼면) 학습률(learning rate)에 $m/\sqrt{v}$를 곱한 만큼 움직이는데, $m$과 $v$는 그레이디언트(gradient)와 그 제곱의 이동 평균입니다. 0으로 나누지 않으려고 $\sqrt{v}$에 더하는 아주 작은 수 eps는 빼고 적었습니다. 한 스텝에 움직인 것을 **걸음**이라고 부르겠습니다. $m$과 $v$는 둘 다 0에서 출발해 처음에는 너무 작으므로 $t$번째 스텝(step)에서 $1-\beta_1^t$과 $1-\beta_2^t$으로 나누고, 이것을 보정(bias correction)이라고 합니다.

**예측.** 보정을 빼먹었습니다. 첫 걸음은 보정했을 때의 몇 배일까요? $\beta_1 = 0.9$, $\beta_2 = 0.999$입니다.

- a: 10분의 1쯤입니다. $m$이 아직 너무 작습니다.
- b: 1배입니다. $m$도 $v$도 작아서 서로 지워집니다.
- c: 3배쯤입니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 이 노트북의 실험
import math
from itertools import accumulate
from statistics import median

import torch
from matplotlib import pyplot as plt

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.why_it_does_not_learn.steps import (
    SEEDS,
    best_rate,
    calm,
    first_move_ratio,
    losses_by_rate,
    missing_correction,
    shrink,
    steps_of,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("06-5")

# %%
beta1, beta2 = 0.9, 0.999


def first_step(grad):  # 보정하지 않은 첫 걸음, 학습률 1
    m = (1 - beta1) * grad
    v = (1 - beta2) * grad**2
    return m / v.sqrt()


# 크기가 아주 다른 그레이디언트 둘
print(
    f"그레이디언트가 0.25이면 {first_step(torch.tensor(0.25)):.2f}, 400이면 {first_step(torch.tensor(400.0)):.2f}"
)

# %% tags=["folded"]
# 확인: 손글씨 숫자 분류기의 첫 걸음, torch.optim.AdamW의 몇 배인지. 시드 6개
ratios = [first_move_ratio(seed, lambda grad: first_step(grad).nan_to_num()) for seed in SEEDS]
print(f"분류기의 첫 걸음: 보정했을 때의 {min(ratios):.3f} ~ {max(ratios):.3f}배")
assert all(abs(ratio - 0.1 / math.sqrt(0.001)) < 0.01 for ratio in ratios)
reveal("06-5")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

첫 스텝의 $m$은 $0.1g$, $v$는 $0.001g^2$입니다. 나누는 쪽의 제곱근은 $0.032|g|$라서 $m$보다 더 작습니다. $0.1/\sqrt{0.001}$, 곧 3.16배입니다. $g$가 지워지므로 그레이디언트의 크기와는 상관이 없습니다. 보정하면 $m$은 $g$, $v$는 $g^2$이 되어 정확히 1배입니다.

</details>

짧아지느냐 길어지느냐는 두 $\beta$에 달렸습니다. $\beta_1 = 0.9$이면 $(1-\beta_1)/\sqrt{1-\beta_2}$가 1인 $\beta_2$는 얼마일까요? 종이에 계산한 다음 실행하세요.
"""

# %%
# missing_correction(t, beta2=…): t번째 걸음이 보정했을 때의 몇 배인지
for other in [0.9, 0.95, 0.99, 0.999, 0.9999]:
    print(f"β₂ = {other}: 보정하지 않은 첫 걸음은 {missing_correction(1, beta2=other):.2f}배")

# %% [markdown]
r"""
첫 걸음은 0.99에서는 1배이고, 언어 모델에서 많이 쓰는 0.95에서는 오히려 짧아집니다. 그렇다고 보정이 필요 없는 것은 아닙니다.

## 1. 아무도 적어 두지 않은 스케줄

약 9분 · ★★☆

첫 스텝만의 일이 아닙니다. $t$번째 걸음은 보정했을 때의 $(1-\beta_1^t)/\sqrt{1-\beta_2^t}$배가 됩니다. eps와 감쇠를 빼고 보면, 보정이 없는 것은 학습률에 이 비율을 곱하는 것과 같습니다. 적어 둔 적이 없는 학습률 스케줄(schedule)이 생긴 셈입니다.
"""

# %%
factors = [missing_correction(step) for step in range(1, 5001)]
longest = max(factors)
print(f"가장 길 때는 {factors.index(longest) + 1}번째 걸음, {longest:.1f}배")
for step in [1, 100, 200, 1000, 3000]:
    print(f"{step}번째 걸음: {factors[step - 1]:.2f}배")

# %% tags=["folded"]
# 확인: 본문에 적은 배율
assert factors.index(longest) + 1 == 12
assert 6.5 < longest < 6.6
assert 2.3 < factors[199] < 2.4
assert 1.02 < factors[2999] < 1.03

# %% [markdown]
r"""
12번째까지 길어져 6.6배가 되고, 200번째에도 2.3배이고, 3,000번째가 되어야 거의 1배입니다. 그러면 학습은 얼마나 나빠질까요? 손글씨 숫자 분류기를 200스텝 학습합니다. 한쪽에 맞는 학습률을 다른 쪽에 쓰면 공평하지 않으니, 두 쪽 모두 학습률 7개에서 가장 좋은 것을 고릅니다.

**예측.** 저마다 가장 좋은 학습률을 쓰면, 시드(seed) 6개의 검증 손실(validation loss)은 어떨까요?

- a: 시드마다 이기는 쪽이 다릅니다.
- b: 6개 모두 보정한 쪽이 낮습니다.
- c: 6개 모두 보정하지 않은 쪽이 낮습니다.
"""

# %% tags=["predict"]
predict("06-6")

# %%
rates = [0.0018, 0.003, 0.0055, 0.01, 0.018, 0.03, 0.055]
with_correction = losses_by_rate(rates)  # 다른 일을 하지 않는 컴퓨터에서 3초쯤 걸립니다
without = losses_by_rate(rates, factor=missing_correction)
for name, losses in [("보정함", with_correction), ("보정하지 않음", without)]:
    best = best_rate(losses)
    print(f"{name}: 가장 좋은 학습률 {best}, 그때의 검증 손실 {median(losses[best]):.3f}")

# %% tags=["folded"]
# 그림과 확인: 학습률마다 검증 손실, 시드 6개의 중앙값
figure, axis = plt.subplots(figsize=(6.5, 3.4))
for losses, color, style, label in [
    (with_correction, COLORS["right"], "o-", "보정함"),
    (without, COLORS["wrong"], "s--", "보정하지 않음"),
]:
    axis.plot(rates, [median(losses[lr]) for lr in rates], style, color=color, label=label)
axis.set(
    xscale="log",
    yscale="log",
    xlabel="학습률",
    ylabel="검증 손실",
    title="같은 골짜기가 왼쪽으로 옮겨 갑니다",
)
axis.set_xticks(rates, [f"{lr:g}" for lr in rates])
axis.set_yticks([0.1, 0.2, 0.3], ["0.1", "0.2", "0.3"])
axis.minorticks_off()
axis.legend(loc="upper center")
show(
    figure,
    "가로축은 학습률, 세로축은 검증 손실입니다. 두 곡선 모두 가운데가 낮은 골짜기이고 가장 낮은 높이도 비슷합니다. "
    "보정하지 않은 쪽의 골짜기는 더 작은 학습률에 있어, 작은 학습률에서는 더 낮고 큰 학습률에서는 더 높습니다.",
)
pairs = zip(with_correction[best_rate(with_correction)], without[best_rate(without)], strict=True)
gaps = [one - other for one, other in pairs]
print("보정한 쪽 - 보정하지 않은 쪽: " + ", ".join(f"{gap:+.3f}" for gap in gaps))
assert min(gaps) < 0 < max(gaps)
assert all(abs(gap) < 0.04 for gap in gaps)
assert median(without[best_rate(with_correction)]) > median(with_correction[best_rate(with_correction)])
same_rate = zip(with_correction[0.018], without[0.018], strict=True)
assert best_rate(with_correction) == 0.018
assert sum(other > one for one, other in same_rate) == 4
assert rates[0] < best_rate(without) < best_rate(with_correction) < rates[-1]
assert all(one > 1.5 * other for one, other in zip(with_correction[rates[0]], without[rates[0]], strict=True))
assert all(one < other for one, other in zip(with_correction[rates[-1]], without[rates[-1]], strict=True))
reveal("06-6")

# %% [markdown]
r"""
보정이 이 학습의 손실을 낮추지는 않습니다. **보정하면 첫 걸음이 꼭 학습률만큼입니다.** 그 뒤에는 그레이디언트가 한결같으면 학습률만큼이고, 부호가 흔들리면 그보다 짧습니다. 보정한 AdamW에 맞춰 고른 학습률을 보정하지 않은 코드에 넣으면 처음 수백 스텝을 몇 배씩 크게 움직입니다. 맞춰 고른 0.018에서는 중앙값으로 조금 나빴고(시드 6개 가운데 4개), 가장 큰 학습률 0.055에서는 시드 6개 모두 보정하지 않은 쪽이 나빴습니다.

[BERT의 첫 코드](https://github.com/google-research/bert/blob/master/optimization.py)가 이랬습니다. 작은 데이터로 미세 조정(fine-tuning)할 때 시드에 따라 학습이 무너지곤 했는데, 뒤에 나온 연구가 [보정이 빠진 것을 원인의 하나로 꼽았습니다](https://arxiv.org/abs/2006.05987). 수백 스텝이면 끝나는 미세 조정은 걸음이 가장 긴 구간에서 끝나 버립니다.

## 2. 튀는 배치가 옮기는 거리와 한 걸음의 한도

약 13분 · ★★★

레슨 03에서 튀는 배치(outlier batch) 하나가 가중치를 옮기는 것을 보았습니다. 스텝이 많이 쌓인 뒤라면 그 스텝의 걸음은 학습률의 3.2배이고, $m$이 기억하는 동안 같은 쪽으로 더 갑니다. 모두 얼마나 갈까요?

**예측.** 5,000스텝 동안 크기가 1이던 그레이디언트가 한 번 100만이 되었다가 다시 1로 돌아옵니다. 그 뒤 60스텝까지 모두 더하면, 가중치는 학습률의 몇 배나 움직일까요?

- a: 6배쯤입니다. 다음 스텝부터는 보통 그레이디언트라 두어 걸음이면 끝납니다.
- b: 30배쯤입니다.
- c: 200배쯤입니다. 60스텝 내내 3배씩 갑니다.
"""

# %% tags=["predict"]
predict("06-7")

# %%
before, after = calm(seed=0, steps=5000), calm(seed=100, steps=60)  # 크기는 1, 부호는 제멋대로
moved = steps_of([*before, 1e6, *after])[5000:]
for count in [1, 2, 5, 10, 61]:
    print(f"튄 걸음부터 {count}걸음: 학습률의 {sum(moved[:count]):.1f}배")

# %% tags=["folded"]
# 그림과 확인: 튄 스텝부터 움직인 거리의 합. 시드 6개
figure, axis = plt.subplots(figsize=(6.5, 3.2))
axis.plot(range(1, 62), list(accumulate(moved)), color=COLORS["wrong"], label="움직인 거리의 합")
axis.plot(range(1, 62), moved, color=COLORS["muted"], linestyle="--", label="그 스텝의 걸음")
axis.legend(loc="center right")
axis.set(
    xlabel="튄 걸음부터 센 번호",
    ylabel="학습률의 몇 배",
    title="한 번 튀고 쉰 번쯤 더 갑니다",
    ylim=(0, None),
)
show(
    figure,
    "가로축은 튄 스텝부터 센 걸음의 수입니다. 한 걸음의 길이는 3.2에서 시작해 줄어들고, 더한 거리는 처음에 빠르게 늘다가 "
    "50걸음쯤 지나면 31.6에서 평평해집니다.",
)
totals = [sum(steps_of([*calm(seed), 1e6, *calm(seed + 100, 60)])[5000:]) for seed in SEEDS]
print(f"그 뒤 60걸음까지의 합: {min(totals):.1f} ~ {max(totals):.1f}배")
assert all(31 < total < 32 for total in totals)
assert round(sum(moved), 1) == 31.6
assert 3.1 < moved[0] < 3.2
assert 20 < sum(moved[:10]) < 21
reveal("06-7")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

$m$에 든 튄 값의 몫은 스텝마다 0.9배로 줄고, $\sqrt{v}$에 든 몫은 $\sqrt{0.999}$배라 거의 그대로입니다. 그래서 걸음은 3.16, 2.85, 2.56, … 으로 이어지고 모두 더하면 $3.16/(1-0.9)$, 곧 31.6배쯤입니다. **처음 한 걸음은 전체의 10분의 1입니다.** 그 스텝에서만 가중치를 살펴보면 나머지를 놓칩니다.

</details>

한 걸음만 길게 하려면 어떤 그레이디언트가 가장 나쁠까요? 레슨 03에서는 조금씩 커지는 쪽이 한 번 튀는 쪽보다 멀리 갔고, 한도가 7.3배쯤이라고 했습니다. 그 수가 어디서 왔는지 봅니다. 스텝마다 커지는 비율을 바꾸어 가장 긴 걸음을 잽니다.
"""

# %%
growths = [1.02, 1.05, 1.11, 1.3, 2.0, 10.0]
peak = {}
for growth in growths:
    grown = [growth**number for number in range(1, int(15 / math.log10(growth)))]  # 10의 15제곱까지
    peak[growth] = max(steps_of([*before, *grown])[5000:])
    print(f"스텝마다 {growth}배: 가장 긴 걸음은 학습률의 {peak[growth]:.2f}배")
held = max(steps_of([*before, *[1000.0] * 100])[5000:])
print(f"1,000배가 되어 그대로: {held:.2f}배")

# %% tags=["folded"]
# 확인: 넘지 못하는 한도, 그리고 거기에 닿는 비율
limit = 0.1 / math.sqrt(0.001) / math.sqrt(1 - 0.9**2 / 0.999)
print(f"한도는 {limit:.2f}배, β₂ ÷ β₁ = {0.999 / 0.9:.2f}")
assert max(peak.values()) == peak[1.11]
assert 7.2 < peak[1.11] < limit < 7.28
assert all(peak[growth] < 7 for growth in growths if growth != 1.11)
assert 6.5 < held < 6.6
assert abs(held - longest) < 0.05

# %% [markdown]
r"""
11%씩 커질 때가 가장 깁니다. $m$에서 $k$스텝 전의 몫은 $\beta_1^k$에, $v$에서는 $\beta_2^k$에 비례합니다. $k$스텝 전의 그레이디언트를 $g_k$라고 하면 $m = 0.1\sum \beta_1^k g_k$, $v = 0.001\sum \beta_2^k g_k^2$입니다. $\beta_1^k g_k$를 $a_k = \beta_1^k / \beta_2^{k/2}$와 $b_k = \beta_2^{k/2} g_k$의 곱으로 보고 코시-슈바르츠 부등식을 씁니다.

$$\Big(\sum a_k b_k\Big)^2 \le \sum a_k^2 \sum b_k^2 \quad\Rightarrow\quad \frac{m}{\sqrt{v}} \le \frac{0.1}{\sqrt{0.001}}\sqrt{\sum \Big(\frac{\beta_1^2}{\beta_2}\Big)^k} = 7.27$$

두 수열이 비례할 때, 곧 $g_k$가 $(\beta_1/\beta_2)^k$에 비례할 때 같습니다. 스텝마다 $\beta_2/\beta_1 = 1.11$배로 커지는 그레이디언트입니다. 이 7.27배가 기본 $\beta$로 스텝이 많이 쌓였을 때의 한도이고, 초반에는 보정 때문에 더 작습니다.

그레이디언트가 같은 부호로 1,000배가 되어 그대로 머물러도 6.55배까지 갑니다. 1절의 6.6배와 거의 같습니다. 그 앞의 그레이디언트가 비교할 수 없이 작아 $m$과 $v$가 0에서 새로 출발하는 셈인데, 보정은 이미 거의 사라졌기 때문입니다. 데이터가 바뀌거나 손실(loss)에 곱하는 수를 키운 뒤에 이렇게 될 수 있습니다. 부호가 흔들리면 그보다 짧습니다.

걸음의 길이 이야기는 여기까지입니다. 여기서 쉬어 가도 됩니다.

## 3. 감쇠는 그레이디언트를 거치지 않습니다

약 5분 · ★★☆

Adam의 `weight_decay`는 그레이디언트에 $\text{weight\_decay} \times w$를 더합니다. AdamW는 가중치(weight)에 $1 - \text{학습률} \times \text{weight\_decay}$를 곱합니다. 1에서 출발한 가중치에 크기가 0.01, 1, 100인 잡음을 그레이디언트로 주고, 둘 다 학습률 0.001, 감쇠(weight decay) 0.1로 500스텝 업데이트합니다. 어느 가중치가 가장 많이 줄어들지 적어 보고 실행하세요.
"""

# %%
sizes = [0.01, 1.0, 100.0]
kept = {
    make_opt: [shrink(make_opt, sizes, seed) for seed in SEEDS]
    for make_opt in (torch.optim.Adam, torch.optim.AdamW)
}
show_table(
    ["옵티마이저", *(f"그레이디언트의 크기 {size:g}" for size in sizes)],
    [
        [make_opt.__name__, *(f"{median(runs):.2f}" for runs in zip(*seeds, strict=True))]
        for make_opt, seeds in kept.items()
    ],
)

# %% tags=["folded"]
# 확인: 시드 6개
for small, middle, large in kept[torch.optim.Adam]:
    assert 0.55 < small < 0.57
    assert 0.94 < middle < 0.96
    assert 0.99 < large < 1.01
assert all(abs(value - (1 - 1e-4) ** 500) < 0.005 for seed in kept[torch.optim.AdamW] for value in seed)

# %% [markdown]
r"""
Adam에서는 감쇠도 그레이디언트처럼 $\sqrt{v}$로 나뉩니다. 그레이디언트가 큰 가중치는 거의 감쇠하지 않고 1.00에 남았고, 작은 가중치는 0.56까지 줄었습니다. AdamW의 감쇠는 스텝마다 학습률 0.001 × 감쇠 0.1 = 0.0001이므로, 모두 $(1-0.0001)^{500}$, 0.95배로 줄었습니다.

### 연습. `adamw_step_`

약 21분 · ★★☆

보정은 매개변수(parameter)마다 자기가 움직인 횟수로 합니다. 얼려 두었다가 나중에 푼 계층(layer)의 $m$과 $v$는 그때 0에서 출발하니, 남의 횟수로 보정하면 위에서 본 것처럼 걸음이 길어집니다.
"""


# %% tags=["exercise:adamw_step_"]
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    """AdamW의 업데이트 한 번을 매개변수에 제자리로 적용합니다. `torch.optim.AdamW`의 `step()`과 같습니다.

    params: 매개변수의 리스트입니다.
    grads: 매개변수와 같은 순서의 그레이디언트입니다. None인 매개변수는 이번에 움직이지도 감쇠하지도 않고, 그 상태도 그대로입니다.
    state: 매개변수의 번호(리스트에서의 자리, 정수)를 키로 하는 dict입니다. 처음에는 비어 있고, 매개변수가 처음 움직일 때
        그 번호에 {"step": 0, "exp_avg": 0인 텐서, "exp_avg_sq": 0인 텐서}를 넣습니다. 텐서의 모양과 dtype은 매개변수와 같습니다.
        "step"은 그 매개변수가 움직인 횟수입니다. 늦게 들어온 매개변수는 자기의 횟수로 보정합니다.
    lr, eps, weight_decay: 수입니다. betas: 수 두 개입니다.

    감쇠는 그레이디언트에 섞지 않습니다. 업데이트 앞에서 매개변수에 1 - lr × weight_decay를 곱합니다.
    eps는 보정한 exp_avg_sq의 제곱근에 더합니다.
    grads의 값과 매개변수의 `.grad`는 바뀌지 않고, 계산 그래프를 만들지 않습니다.
    """
    # BEGIN SOLUTION
    beta1, beta2 = betas
    with torch.no_grad():
        for number, (param, grad) in enumerate(zip(params, grads, strict=True)):
            if grad is None:
                continue
            if number not in state:
                zeros = torch.zeros_like(param)
                state[number] = {"step": 0, "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
            kept = state[number]
            kept["step"] += 1
            param.mul_(1 - lr * weight_decay)
            kept["exp_avg"].lerp_(grad, 1 - beta1)
            kept["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            mean = kept["exp_avg"] / (1 - beta1 ** kept["step"])
            square = kept["exp_avg_sq"] / (1 - beta2 ** kept["step"])
            param.sub_(lr * mean / (square.sqrt() + eps))
    # END SOLUTION


# %% tags=["check"]
check(adamw_step_)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- AdamW를 손으로 쓰고, 보정을 뺀 코드의 처음 걸음이 몇 배인지 두 $\beta$에서 계산합니다.
- 튄 배치 하나가 뒤의 스텝까지 얼마나 옮기는지, 한 걸음의 한도가 어디인지 말합니다.
- 감쇠를 그레이디언트에 섞은 코드를 알아봅니다.

여기서 쉬어 가도 됩니다. [다음: Muon](3_muon.ipynb)에서는 원소마다가 아니라 행렬 하나를 통째로 맞춥니다.
"""
