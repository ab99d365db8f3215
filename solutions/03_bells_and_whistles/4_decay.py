# %% [markdown]
r"""
# 감쇠

워밍업(warmup)으로 정점까지 올린 학습률(learning rate)은 끝으로 갈수록 내리는 것이 보통입니다. 이것을 감쇠(decay)라고 합니다. 정점에 그대로 머무는 것과 비교해 봅니다.

**예측.** 작은 GPT를 180스텝(step) 학습(training)합니다. 워밍업은 40스텝입니다. 감쇠하면 정점에 그대로 머물 때보다 마지막 **학습 손실**(loss)이 낮아지는 것은 어느 쪽일까요?

- a: 정점이 0.01일 때만
- b: 정점이 0.002일 때만
- c: 0.002일 때와 0.01일 때 모두
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 노트북의 스케줄 실험
from statistics import mean, median

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.schedules import stranded
from grader.experiments.bells_and_whistles.stored import each, schedule_runs, six_seeds, spelled
from grader.experiments.bells_and_whistles.training import climb_then
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("03-8")

# %%
SHAPES = ["상수", "코사인", "직선"]
decay_runs = {}
for peak in [0.002, 0.01]:
    for shape in SHAPES:
        live = int(peak == 0.01)
        runs = schedule_runs(shape, peak=peak, warmup=40, total=180, clip_from=0, live=live)
        decay_runs[peak, shape] = runs
        print(f"정점 {peak}, {shape}: 마지막 배치 10개의 손실 {spelled(each(runs))}")

# %% tags=["folded"]
# 표와 확인: 정점 4개 × 모양 3가지 × 시드 6개. 정점 0.001과 0.005는 모두 미리 잰 값입니다
for peak in [0.001, 0.005]:
    for shape in SHAPES:
        decay_runs[peak, shape] = schedule_runs(shape, peak=peak, warmup=40, total=180, clip_from=0, live=0)
show_table(
    ["정점", *(f"{name} 손실: {shape}" for name in ("학습", "검증") for shape in SHAPES)],
    [
        [
            peak,
            *(
                f"{median(each(decay_runs[peak, shape], what)):.2f}"
                for what in ("train", "val")
                for shape in SHAPES
            ),
        ]
        for peak in [0.001, 0.002, 0.005, 0.01]
    ],
)
for shape in ["코사인", "직선"]:
    high = zip(each(decay_runs[0.01, shape]), each(decay_runs[0.01, "상수"]), strict=True)
    assert all(decayed < kept for decayed, kept in high)
    assert median(each(decay_runs[0.01, shape])) < median(each(decay_runs[0.01, "상수"])) - 0.04
    low = zip(each(decay_runs[0.002, shape]), each(decay_runs[0.002, "상수"]), strict=True)
    assert all(kept < decayed - 0.02 for decayed, kept in low)
decay_val = {setting: median(each(runs, "val")) for setting, runs in decay_runs.items()}
assert min(decay_val, key=decay_val.get) == (0.002, "상수")
reveal("03-8")

# %% [markdown]
r"""
## 1. 내리느냐, 얼마나 높으냐

약 8분 · ★★☆

숫자 6개는 시드(seed) 6개입니다. 정점 0.01의 맨 앞의 것만 방금 학습했고, 나머지는 미리 재어 둔 값입니다. 학습 손실에는 **내리느냐 마느냐**와 **정점이 얼마나 높으냐**가 중요합니다.

검증(validation) 손실 쪽도 보세요. 정점이 0.01이면 내리는 쪽이 조금 낮지만, 표에서 가장 낮은 값은 정점 0.002를 그대로 유지한 학습입니다. 그러나 180스텝짜리 짧은 학습이므로 이 표를 「감쇠는 검증에 소용없다」로 읽으면 안 됩니다. 큰 말뭉치에서 감쇠가 무엇을 주는지는 이 데이터로는 알 수 없습니다. 확실한 것은 스케줄을 고를 때 학습 손실만 보면 안 된다는 점입니다.

## 2. 코사인과 직선

약 4분 · ★★☆

표에서는 두 모양이 거의 같습니다. 그런데 중앙값만 보면 작은 차이는 묻힙니다. 같은 시드끼리 빼 보겠습니다.
"""


# %%
def line_minus_cosine(peak, what):
    """시드마다, 직선의 손실에서 코사인의 손실을 뺀 값입니다. 모두 미리 재어 둔 값입니다."""
    settings = {"peak": peak, "warmup": 40, "total": 180, "clip_from": 0, "live": 0}
    line, cosine = (each(schedule_runs(shape, **settings), what) for shape in ["직선", "코사인"])
    return [a - b for a, b in zip(line, cosine, strict=True)]


shape_gaps = {
    (peak, what): line_minus_cosine(peak, what)
    for peak in [0.001, 0.002, 0.005, 0.01]
    for what in ["train", "val"]
}

# %% tags=["folded"]
# 표와 확인: 시드 6개의 차이
show_table(
    ["정점", "학습 손실: 직선 − 코사인", "직선이 낮은 시드", "검증 손실: 직선 − 코사인", "직선이 낮은 시드"],
    [
        [
            peak,
            *(
                cell
                for what in ("train", "val")
                for gap in [shape_gaps[peak, what]]
                for cell in (f"{mean(gap):+.3f}", f"{sum(one < 0 for one in gap)}/6")
            ),
        ]
        for peak in [0.001, 0.002, 0.005, 0.01]
    ],
)
assert all(gap < 0 for (_, what), gaps in shape_gaps.items() if what == "val" for gap in gaps)
assert all(gap < 0 for peak in (0.005, 0.01) for gap in shape_gaps[peak, "train"])
assert all(0.001 < -mean(shape_gaps[peak, "val"]) < 0.03 for peak in (0.001, 0.002, 0.005, 0.01))
assert max(abs(gap) for gap in shape_gaps[0.01, "train"]) < 0.1

# %% [markdown]
r"""
차이는 작지만 한쪽으로만 납니다. 검증 손실은 정점 4개와 시드 6개, **스물네 번 모두** 직선이 낮습니다. 학습 손실도 정점이 0.005와 0.01일 때는 모두 직선이 낮습니다. 평균 차이는 가장 클 때도 0.02쯤이라, 코사인으로 쓴 코드를 고칠 만한 차이는 아닙니다. 다만 널리 쓰인다고 해서 코사인의 모양이 더 나은 것은 아니었습니다. 더 큰 언어 모델에서도 바닥까지 곧게 내리는 쪽이 낫다는 보고가 있습니다([Bergsma 외, 2025](https://arxiv.org/abs/2502.15938)).

## 3. 정점에 머물다가 끝에서만 내리기: WSD

약 8분 · ★★☆

요즘 언어 모델에는 워밍업한 다음 정점에 오래 머물다가(stable) 끝에서만 빠르게 내리는 스케줄(warmup–stable–decay, WSD)도 씁니다([MiniCPM](https://arxiv.org/abs/2404.06395)). 마지막 40스텝에서만 곧게 내리는 WSD를 코사인과 비교합니다. 180스텝을 계획했는데 80스텝을 더 하게 되었다고 하겠습니다. 180스텝으로 그린 코사인은 이미 바닥이므로, 그대로 이어 가면 더한 80스텝을 바닥의 학습률로 학습합니다.
"""

# %%
for shape in ["코사인", "WSD"]:
    short, long = (climb_then(shape, peak=0.01, warmup=40, total=total) for total in (180, 260))
    shared = next(step for step in range(180) if short[step] != long[step])
    print(f"{shape}: 180스텝 계획과 260스텝 계획은 앞의 {shared}스텝이 같습니다")

# %%
wsd_runs = {"바닥에서 80스텝 더": six_seeds("코사인 180스텝 뒤에 바닥 80스텝", stranded, live=1)}
for total in [180, 260]:
    for shape in ["코사인", "WSD"]:
        live = int(total == 180 and shape == "WSD")
        wsd_runs[shape, total] = schedule_runs(
            shape, peak=0.01, warmup=40, total=total, clip_from=0, live=live
        )

# %% tags=["folded"]
# 표와 확인: 두 모양을 두 길이로, 그리고 180스텝의 코사인을 이어 간 것. 시드 6개의 중앙값입니다
show_table(
    ["학습", "학습 손실 (180스텝)", "학습 손실 (260스텝)", "검증 손실 (180스텝)", "검증 손실 (260스텝)"],
    [
        [name, *(f"{median(each(runs, what)):.2f}" for what in ("train", "val") for runs in pair)]
        for name, pair in [
            ("코사인, 길이마다 처음부터 다시", [wsd_runs["코사인", 180], wsd_runs["코사인", 260]]),
            ("WSD", [wsd_runs["WSD", 180], wsd_runs["WSD", 260]]),
            (
                "180스텝의 코사인을 바닥에서 이어 감",
                [wsd_runs["코사인", 180], wsd_runs["바닥에서 80스텝 더"]],
            ),
        ]
    ],
)


def gaps(one, other, what="train"):
    return [b - a for a, b in zip(each(wsd_runs[one], what), each(wsd_runs[other], what), strict=True)]


plans = [climb_then("WSD", peak=0.01, warmup=40, total=total) for total in (180, 260)]
assert plans[0][:141] == plans[1][:141]
assert plans[0][140] == 0.01 > plans[0][141]
assert max(map(abs, gaps(("코사인", 180), ("WSD", 180)))) < 0.06
assert min(gaps(("WSD", 260), ("코사인", 260))) > 0.02
assert min(gaps(("WSD", 260), "바닥에서 80스텝 더")) > 0.15
assert max(map(abs, gaps(("코사인", 180), "바닥에서 80스텝 더", "val"))) < 0.02

# %% [markdown]
r"""
180스텝에서는 둘이 거의 같고, 260스텝에서는 시드 6개 모두 WSD의 학습 손실이 조금 더 낮습니다. 더 중요한 것은 **앞부분이 같다**는 점입니다. WSD는 내리기 시작할 때까지 전체 길이를 몰라도 됩니다(내리막의 첫 스텝은 아직 정점이라 141스텝까지 같습니다). 140스텝을 마친 체크포인트를 남겨 두면, 거기에서 40스텝을 내려 180스텝짜리를 끝내고, 같은 체크포인트에서 정점을 이어 가 120스텝 뒤에 260스텝짜리도 끝낼 수 있습니다. 140 + 40 + 120, 모두 300스텝입니다. 코사인은 길이마다 처음부터 다시 해야 하므로 180 + 260, 440스텝입니다. 바닥에서 이어 간 80스텝에서는 손실이 거의 내려가지 않았습니다.

### 보너스. `wsd_at`

약 25분 · ★★☆

[워밍업](3_warmup.ipynb)에서 쓴 `lr_at`처럼 스텝 하나의 학습률을 돌려주되, 모양은 WSD입니다. 전체 스텝 수 대신 워밍업, 유지, 내리막의 길이를 따로 받습니다. 세는 법은 `lr_at`과 같습니다. 스텝은 0부터 세고, 정점은 `step = warmup_steps`이고, 마지막 업데이트가 정확히 `min_lr`을 씁니다. 다만 `decay_steps`가 0이면 내려가지 않은 채 끝납니다. 유지와 내리막이 모두 0이면 `step = warmup_steps`는 이미 끝난 뒤이므로 `min_lr`입니다. `stable_steps`가 0이면 `initial_lr`을 `min_lr`로 놓은 `lr_at`의 `decay="linear"`와 같습니다. 세 길이는 저마다 0일 수 있습니다(셋 다 0이면 오류입니다). 어느 분모가 0이 되는지 먼저 찾아보세요.

보너스 문제는 채점만 하고 점수에 넣지 않습니다. 힌트도 없습니다.
"""


# %% tags=["exercise:wsd_at"]
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    """step번째 업데이트(0부터)에 쓸 학습률을 float로 돌려줍니다. 전체 스텝 수는 세 길이의 합입니다.

    max_lr과 min_lr은 float입니다. 아주 작아도 반올림하지 않습니다.

    앞의 warmup_steps스텝    min_lr(0번째 스텝)에서 (max_lr − min_lr) / warmup_steps씩 곧게 올라갑니다.
    다음 stable_steps스텝    max_lr입니다.
    다음 decay_steps스텝     첫 스텝은 아직 max_lr이고, 곧게 내려가 마지막 스텝이 min_lr입니다. 한 스텝뿐이면 min_lr입니다.
    그 뒤                    min_lr입니다.

    ValueError: step이나 어느 길이가 음수일 때, 세 길이가 모두 0일 때, 0 <= min_lr <= max_lr이 아닐 때.
    step이 어느 부분에 있든 냅니다.
    """
    # BEGIN SOLUTION
    lengths = (warmup_steps, stable_steps, decay_steps)
    if step < 0 or min(lengths) < 0 or sum(lengths) == 0:
        raise ValueError(f"스텝과 길이는 음수가 아니고, 길이의 합은 1 이상이어야 합니다: {step}, {lengths}")
    if not 0 <= min_lr <= max_lr:
        raise ValueError(f"0 <= min_lr <= max_lr이어야 합니다: {min_lr}, {max_lr}")
    # 1. 오르막: min_lr에서 출발합니다
    if step < warmup_steps:
        return min_lr + (max_lr - min_lr) * step / warmup_steps
    # 2. 유지
    if step < warmup_steps + stable_steps:
        return max_lr
    # 3. 내리막: 마지막 스텝까지 남은 칸으로 높이를 구합니다
    steps_left = sum(lengths) - 1 - step
    if steps_left <= 0:
        return min_lr
    return min_lr + (max_lr - min_lr) * steps_left / (decay_steps - 1)
    # END SOLUTION


# %% tags=["check"]
check(wsd_at)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 감쇠가 언제 학습 손실을 낮추는지, 무엇을 함께 보아야 하는지 압니다.
- 학습을 더 이어 갈 수 있는 스케줄을 고르고, WSD를 식으로 씁니다.

스케줄은 여기까지입니다. 쉬어 가기 좋습니다. [다음: 클리핑](5_clipping.ipynb)에서는 그레이디언트(gradient)의 크기를 재고, 너무 크면 줄입니다.
"""
