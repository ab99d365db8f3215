# %% [markdown]
r"""
# 정말 더 평탄할까요

SAM은 가중치(weight)를 조금 옮겨도 손실(loss)이 덜 커지는 해를 찾으려 합니다. 정말 그런 해를 찾는지, 그래서 새 데이터에서 더 잘 맞히는지 SGD와 비교합니다. 먼저 정답에 잡음이 섞인 데이터에서 얼마나 차이가 날지 골라 보세요.

8×8 손글씨 숫자의 학습 이미지를 300장으로 줄이고 **정답의 20%를 아무 숫자로 바꿉니다.** 검증(validation) 데이터 360장과, 학습에 쓰지 않은 1,137장(시험 데이터)의 정답은 깨끗합니다. $\rho$를 바꾸어 가며 고른 SAM($\rho = 0.5$)의 검증 정확도는 91%대이고, 학습률(learning rate) 0.1의 SGD는 85% 안팎입니다. SGD에도 하이퍼파라미터(hyperparameter)를 하나 골라 줍니다. 학습률 3개, 가중치 감쇠(weight decay) 4개, 라벨 스무딩(label smoothing) 3개를 시드(seed) 10개로 돌려 보고, 저마다 검증 정확도가 가장 높은 값을 썼습니다.

**예측.** 이 가운데 가장 나은 SGD와 SAM($\rho = 0.5$)의 시험 정확도 차이는 얼마일까요?

- a: 2%p보다 작습니다.
- b: 절반인 3%p쯤입니다.
- c: 6%p쯤으로 거의 그대로입니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 학습과 첨예도의 실험
import math
from statistics import mean

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.fits import CLEAN, NOISY, fit_all, spread
from grader.experiments.sam_accumulation.landscape import (
    climb,
    gradient_norm,
    hessian_times,
    plane_around,
    random_direction,
    rise_along,
    steepest,
)
from grader.experiments.sam_accumulation.pictures import cuts, dots, planes
from grader.experiments.sam_accumulation.vectors import cosine
from grader.plots import show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 모델의 가중치 전체를 벡터 하나로 다룰 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


# %% tags=["predict"]
predict("04-14")

# %% [markdown]
r"""
**예측.** 잡음이 없는 1,437장 전체로 학습하면, SAM의 검증 정확도는 두 배 오래 학습한 SGD와 비교해 어떨까요?

- a: 3%p 넘게 높습니다.
- b: 3%p 안쪽으로 비슷합니다.
- c: 3%p 넘게 낮습니다.
"""

# %% tags=["predict"]
predict("04-15")

# %%
ON_NOISY = {  # 모두 모멘텀 SGD이고 rho가 있으면 SAM입니다. 시드 6개씩 학습합니다
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
noisy_fits, clean_fits = fit_all(NOISY, ON_NOISY), fit_all(CLEAN, ON_CLEAN)

# %% tags=["folded"]
# 표와 그림: 잡음이 있는 300장과 잡음이 없는 1,437장
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
show(
    dots(
        {name: [fitted.test_accuracy for fitted in found] for name, found in noisy_fits.items()},
        title="하나씩 조정한 SGD는 SAM과 비슷합니다",
        xlabel="시험 정확도 (%). ρ = 1은 그림 밖에 있습니다",
        xlim=(75, 95),
    ),
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
## 1. 상대를 얼마나 조정했을까요

약 15분 · ★★☆

- 조정하지 않은 SGD와 비교하면 SAM이 크게 이긴 것처럼 보입니다. 공평하지 않은 비교입니다. SAM에는 $\rho$를 골라 주었고 SGD에는 아무것도 골라 주지 않았습니다. 이 데이터에서는 라벨 스무딩을 쓴 SGD가 절반의 계산으로 SAM과 비슷합니다.
- **반지름 $\rho$도 학습률처럼 골라야 하는 하이퍼파라미터입니다.** 0.05로는 얻은 것이 작고, 1에서는 학습이 무너졌습니다.
- 마지막 열을 보면 SGD도 가장 좋은 에폭(epoch)에서 멈추면 차이가 많이 줄어듭니다. SAM이 얻은 것의 일부는 조기 종료(early stopping)로도 얻습니다.
- 잡음이 없으면 두 방법은 비슷합니다. 이 SGD는 에폭을 두 배로 늘려 SAM만큼 계산했습니다. 곧 같은 시간을 썼을 때 SAM이 더 얻은 것은 없습니다.

그런데 이 비교도 한쪽으로 기울었습니다. SGD에는 라벨 스무딩이 있고 SAM에는 없습니다. **SAM에도 라벨 스무딩을 주고**, SGD에는 같은 계산을 쓰도록 에폭을 두 배로 늘려 줍니다.
"""

# %%
BOTH = {
    "SGD, 라벨 스무딩 0.5, 두 배 에폭": {"smoothing": 0.5, "epochs": 120},
    "SAM, ρ = 0.2, 라벨 스무딩 0.5": {"smoothing": 0.5, "rho": 0.2},
    "SAM, ρ = 0.5, 라벨 스무딩 0.5": {"smoothing": 0.5, "rho": 0.5},
}
smoothed = {"SGD, 라벨 스무딩 0.5": noisy_fits["SGD, 라벨 스무딩 0.5"], **fit_all(NOISY, BOTH)}

# %% tags=["folded"]
# 표와 확인: 라벨 스무딩을 함께 쓴 방법들
show_table(
    ["라벨 스무딩 0.5 (시드 6개)", "검증 (%)", "시험 (%)"],
    [
        [
            name,
            spread([fitted.accuracies[-1] for fitted in found]),
            spread([fitted.test_accuracy for fitted in found]),
        ]
        for name, found in smoothed.items()
    ],
)
sgd_short, sgd_long, sam_small, sam_large = (
    [fitted.test_accuracy for fitted in found] for found in smoothed.values()
)
assert all(sam > sgd for sam, sgd in zip(sam_small, sgd_short, strict=True))
assert all(sam > sgd for sam, sgd in zip(sam_small, sgd_long, strict=True))
assert 0.4 < mean(sam_small) - mean(sgd_short) < 2.5
assert mean(sgd_long) < mean(sgd_short)
assert mean(sam_large) < mean(sam_small)

# %% [markdown]
r"""
둘을 함께 쓰면 시드 6개 모두에서 SAM($\rho = 0.2$)이 1%p쯤 앞섭니다. SGD는 같은 시간을 써도 따라잡지 못합니다. 대신 알맞은 $\rho$가 달라졌습니다. 곧 **하나씩 조정하면 차이가 거의 사라지고, 둘 다 조정하면 작게 남습니다.** 어느 결론이 나오는지는 양쪽을 저마다 얼마나 조정했는지에 달렸습니다. 새 방법을 볼 때는 그것을 먼저 확인하세요.

## 2. 같은 해를 여러 방법으로 재기

약 12분 · ★★★

잡음이 있는 300장에서 학습한 SGD와 SAM($\rho = 0.5$)의 해를 **연습 `sharpness`의 측정법**으로 재 봅니다.

**예측.** 그레이디언트(gradient) 방향으로 한 걸음(거리 0.2) 올라갔을 때 손실이 더 크게 오르는 쪽은 어느 해일까요?

- a: SGD의 해
- b: SAM의 해
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("04-16")

# %%
RULERS = {  # climb: 반지름 안에서 손실이 큰 곳을 찾아 e를 돌려줍니다. 한 걸음이면 SAM의 e입니다
    "그레이디언트로 한 걸음, 0.2": lambda fitted: rise_along(fitted, climb(fitted, 0.2, steps=1)),
    "10걸음으로 찾은 최악, 0.5": lambda fitted: rise_along(fitted, climb(fitted, 0.5, steps=10)),
    "무작위 방향 5개의 평균, 2.0": lambda fitted: mean(
        rise_along(fitted, 2.0 * random_direction(fitted, seed)) for seed in range(5)
    ),
}
solutions = {"SGD": noisy_fits["SGD"], "SAM": noisy_fits["SAM, ρ = 0.5"]}
rulers = {
    ruler: {name: [measure(fitted) for fitted in found] for name, found in solutions.items()}
    for ruler, measure in RULERS.items()
}

# %% tags=["folded"]
# 표와 확인: 측정법 3개, 시드 6개
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

assert all(1 < value < 1.5 for values in steepness.values() for value in values)  # 한 걸음은 ρ‖g‖쯤입니다
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

SGD의 해는 그레이디언트가 작고, 그 방향은 가장 가파른 방향에서 많이 벗어나 있습니다(위의 코사인). 그래서 한 걸음은 엉뚱한 쪽으로 갑니다. 게다가 짧은 한 걸음의 높이는 $\rho\lVert g \rVert$에 가깝습니다. 이 측정법은 골짜기의 모양보다 **그레이디언트의 크기**를 잽니다. 학습하는 동안 SAM은 자리를 옮길 때마다 새 방향으로 다시 올라갑니다. 그러나 한 걸음은 **학습이 끝난 해를 한 번 재는 측정법으로는 약합니다.** 거기다 가중치의 스케일만 바꾸어도 값이 바뀝니다.

손실 지형(loss landscape)을 잘라 봅니다.
"""

# %% tags=["folded"]
# 그림과 확인: 두 방향으로 자른 손실 지형
STEEP, SCATTERED = "최악의 방향: SGD의 골짜기가 좁습니다", "무작위 방향: 차이가 훨씬 작습니다"
lines = {}
for title, reach, find in [
    (STEEP, 0.6, lambda fitted: climb(fitted, 0.5, 10)),
    (SCATTERED, 4.0, lambda fitted: random_direction(fitted, 0)),
]:
    distances = torch.linspace(-reach, reach, 25, dtype=torch.float64).tolist()
    for name, found in solutions.items():
        lines[title, name] = [
            [rise_along(fitted, distance * e / e.norm()) for distance in distances]
            for fitted, e in [(fitted, find(fitted)) for fitted in found]
        ]
show(
    cuts(lines, reaches=[0.6, 4.0]),
    "두 방향으로 자른 손실 지형, 가는 선은 시드 6개, 굵은 선은 평균. 왼쪽 최악의 방향에서는 SGD의 곡선이 SAM보다 몇 배 가파르게 "
    "올라갑니다. 오른쪽 무작위 방향에서는 훨씬 멀리 가도 손실이 조금만 오르고, SGD가 조금 더 오릅니다.",
)
heights = {key: mean(run[-1] for run in runs) for key, runs in lines.items()}
assert heights[STEEP, "SGD"] > 2 * heights[STEEP, "SAM"]
assert heights[SCATTERED, "SGD"] > heights[SCATTERED, "SAM"]
assert heights[SCATTERED, "SGD"] < 0.3 * heights[STEEP, "SGD"]

# %% [markdown]
r"""
무작위 방향으로는 일곱 배 가까이 멀리 가도 손실이 훨씬 덜 오릅니다. 가파른 방향은 몇 개뿐이고, 무작위로 뽑아서는 만나기 어렵습니다.

## 3. 가장 가파른 방향의 곡률

약 13분 · ★★★

그러면 가장 가파른 방향은 어떻게 찾을까요? 해의 근처에서 손실은 이렇게 커집니다.

$$ L(w + e) - L(w) \approx g^\top e + \tfrac12\, e^\top H e $$

$H$는 손실을 두 번 미분한 값을 모은 **헤세 행렬**(Hessian)입니다. 길이가 같은 $e$ 가운데 $e^\top H e$를 가장 크게 하는 방향은 가장 큰 고윳값 $\lambda_{\max}$의 고유벡터입니다. 그레이디언트로 한 걸음 올라간 높이와 달리 $\lambda_{\max}$에는 $g$의 크기가 들어 있지 않습니다.

이 모델의 가중치는 9,610개라서 $H$의 칸은 9천만 개가 넘습니다. 그래도 $H$와 **벡터의 곱**은 $H$를 만들지 않고 구할 수 있습니다. $g^\top v$를 한 번 더 미분하면 됩니다.

$$ H v = \nabla_w \left( g^\top v \right) \qquad (v\text{는 고정}) $$

아래의 `steepest`는 이 곱을 30번 구합니다. $v, Hv, H^2v, …$가 만드는 작은 공간에서 고윳값을 구하는 방법(란초시 방법)입니다.
"""

# %%
MEASURED = ["SGD", *tuned, "SAM, ρ = 0.5"]
pairs = {name: [steepest(fitted) for fitted in noisy_fits[name]] for name in MEASURED}  # (λmax, 고유벡터)

# %% tags=["folded"]
# 표와 확인: 해 30개의 곡률
curvature = {name: [value for value, _ in every] for name, every in pairs.items()}
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
for name, every in pairs.items():
    for fitted, (value, vector) in zip(noisy_fits[name], every, strict=True):
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
grids = {
    name: plane_around(noisy_fits[name][0], pairs[name][0][1], ticks) for name in ["SGD", "SAM, ρ = 0.5"]
}
show(
    planes(grids, ticks),
    "시드 0의 두 해를 같은 거리, 같은 색 눈금으로 자른 손실. 점은 학습이 끝난 자리입니다. 가로는 저마다 가장 가파른 방향이고 세로는 "
    "무작위 방향입니다. 두 그림 모두 세로로는 거의 평평합니다. 가로로는 SGD의 골짜기가 SAM의 골짜기보다 뚜렷이 좁습니다.",
)
width = {name: int((grid[POINTS // 2] < 0.2).sum()) for name, grid in grids.items()}
assert width["SAM, ρ = 0.5"] > 1.5 * width["SGD"]
assert all((grid[:, POINTS // 2].max() - grid[:, POINTS // 2].min()) < 0.2 for grid in grids.values())

# %% [markdown]
r"""
$\lambda_{\max}$로 재면 시드 6개 모두에서 SAM의 해가 완만합니다. 조정하지 않은 SGD는 모두 2.5를 넘고 SAM은 모두 1.2보다 작습니다. 두 해의 $\lVert w \rVert$가 비슷하므로 같은 거리에서 비교해도 되고, 10걸음으로 찾은 최악과 결론도 같습니다.

나머지 줄도 읽어야 합니다. 라벨 스무딩을 쓴 SGD는 시험 정확도가 SAM과 거의 같은데, $\lambda_{\max}$는 시드마다 SAM의 평균의 두 배가 넘습니다. 학습률 0.02의 SGD는 2%p쯤 낮을 뿐인데 세 배가 넘습니다. $\lambda_{\max}$ **하나로 시험 정확도가 정해지지는 않습니다.** 다만 이 두 해는 $\lVert w \rVert$가 작습니다. 거리를 $\lVert w \rVert$의 몇 배인지로 재면 곡률은 $\lambda_{\max} \lVert w \rVert^2$입니다. 이것으로 비교하면 차이가 줄고, 가중치 감쇠를 쓴 SGD는 SAM보다도 완만해집니다.

그래서 「평탄하다」고 말할 때는 **어느 방향으로, 얼마나 멀리, 어떤 스케일에서** 쟀는지를 함께 말해야 합니다. 평탄한 최솟값(flat minimum)이라서 시험 정확도가 높았다는 것도 이 실험은 보여 주지 않습니다. 둘이 함께 일어났을 뿐입니다.

### 보너스. `lambda_max`

약 40분 · ★★★

점수에 들어가지 않고, 힌트도 없습니다. `steepest`는 이 노트북의 모델과 데이터에만 맞습니다. 이번에는 아무 모델에나 쓸 수 있는 함수를 **거듭제곱법**(power iteration)으로 만듭니다. 아무 벡터 $v$에서 시작해, $H$를 곱하고 길이를 1로 맞추기를 되풀이하면 $v$는 절댓값이 가장 큰 고윳값의 고유벡터로 다가갑니다. 길이가 1인 $v$에서 $v^\top H v$가 그 고윳값입니다.

- 돌려주는 것은 **절댓값이 가장 큰** 고윳값이고, **부호는 그대로** 둡니다. 부호까지 따져 가장 큰 것인 위의 $\lambda_{\max}$와 다를 수 있습니다. 손실이 위로 볼록한 곳에서는 음수입니다.
- 다가가려면 절댓값이 둘째로 큰 고윳값과 차이가 나야 합니다. 부호가 반대이고 절댓값이 거의 같은 두 고윳값이 가장 크면 몇 번을 곱해도 다가가지 못합니다(아래에서 봅니다). 그때도 받은 횟수만큼 곱한 값을 돌려주면 됩니다.
- $H$는 `requires_grad=True`인 매개변수(parameter)를 모두 이어 붙인 벡터 하나에 대한 것입니다. 얼린 매개변수는 빼고, 얼린 채로 둡니다. 손실에 쓰이지 않는 매개변수가 있어도 되고, 그 자리의 미분은 0입니다.
- `iterations`만큼만 되풀이하므로, 적게 주면 아직 수렴하지 않은 값이 나옵니다. 곱한 벡터가 0이면(손실이 평평하면) 길이로 나눌 수 없으니 0.0을 돌려줍니다.
- 손실은 들어올 때의 모드와 난수 상태에서 잰 것 하나입니다. 드롭아웃이 있으면 모든 반복이 같은 마스크를 봅니다.
- 재는 코드이므로 아무것도 남기지 않습니다. `sharpness`에서 지킨 것을 여기서도 지킵니다. 처음의 $v$는 전역 난수가 아니라 따로 만든 제너레이터에서 뽑습니다.
"""


# %% tags=["exercise:lambda_max"]
def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    """손실 loss_fn(model(xb), yb)의 헤세 행렬에서 절댓값이 가장 큰 고윳값을, 부호 그대로 float로 돌려줍니다.

    거듭제곱법으로 구합니다. 헤세 행렬과 v의 곱을 길이 1로 맞춰 다음 v로 삼고, 값은 길이가 1인 마지막 v와 그 곱에서 읽습니다.
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
거듭제곱법이 다가가지 못하는 곳을 봅니다. $L = xy$의 헤세 행렬은 고윳값이 $+1$과 $-1$입니다. $H$를 두 번 곱하면 제자리로 돌아오므로 $v^\top H v$는 시작한 벡터에 달렸습니다.
"""

# %%
H = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
reached = []
for seed in range(6):
    v = torch.randn(2, generator=torch.Generator().manual_seed(seed))
    for _ in range(1000):
        v = H @ (v / v.norm())
    reached.append((v @ H @ v / (v @ v)).item())
print("1,000번 곱한 뒤의 vᵀHv:", [f"{value:+.2f}" for value in reached])
assert max(abs(value) for value in reached) <= 1.0
assert min(abs(value) for value in reached) < 0.9  # ±1에 다가가지 못한 시드가 있습니다
assert max(reached) - min(reached) > 0.5

# %% [markdown]
r"""
학습이 끝난 해에서는 이런 일이 드뭅니다. 위에서 잰 해처럼 가장 큰 양의 고윳값이 두드러지기 때문입니다. 학습을 막 시작한 모델에서는 조심해야 하고, 그때는 위의 `steepest`처럼 작은 공간에서 고윳값을 구합니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 새 방법의 결과를 볼 때 상대를 얼마나 조정했는지부터 묻습니다.
- 첨예도를 여러 방법으로 재고, 그 값이 무엇을 말해 주고 무엇을 말해 주지 않는지 압니다.

숫자 데이터의 이야기는 여기서 끝나니 쉬기에 좋습니다. [다음: 한국어 기계 독해를 SAM과 누적으로](7_reader.ipynb)에서는 지금까지의 것을 진짜 과제 하나에 모읍니다.
"""
