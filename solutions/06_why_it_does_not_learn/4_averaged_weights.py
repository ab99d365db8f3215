# %% [markdown]
r"""
# 가중치의 평균

약 5분 · ★★☆

학습(training)은 그대로 두고, 지나온 가중치(weight)의 이동 평균(EMA, exponential moving average)을 따로 하나 갱신해 갑니다. 스텝(step)마다 평균 $a$를 $a \leftarrow d\,a + (1-d)\,w$로 바꾸고, $d$를 **비율**(decay)이라고 부르겠습니다. 비율이 클수록 오래 기억합니다. 그레이디언트(gradient)는 언제나 학습하는 모델에서 구하고, 평균은 평가할 때만 씁니다.

**예측.** 손글씨 숫자 분류기를 모멘텀 SGD로 400스텝 학습합니다. 학습률(learning rate)을 그대로 둔 학습의 마지막 가중치, 학습률을 그대로 둔 학습의 평균, 학습률을 0까지 줄인 학습의 마지막 가중치를 비교합니다. 셋 모두 가장 좋은 학습률을 따로 고릅니다. 검증 손실(validation loss)은 어떨까요?

- a: 셋이 비슷합니다. 평균은 같은 곳을 지나온 가중치들일 뿐입니다.
- b: 0까지 줄인 학습이 혼자 낮습니다. 평균에는 덜 배운 가중치가 섞입니다.
- c: 평균과 0까지 줄인 학습이 비슷하게 낮고, 그대로 둔 학습의 마지막이 높습니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 이 노트북의 실험
import math
from statistics import median

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.optim.swa_utils import AveragedModel

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.why_it_does_not_learn.averages import (
    SEEDS,
    averaged_model_loss,
    following,
    loss_and_accuracy,
    loss_curves,
    losses_by_rate,
    measure_buffers_again,
    train_following,
)
from grader.experiments.why_it_does_not_learn.steps import best_rate
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("06-11")


# %%
def ratio(step):  # 비율 d. 처음에는 0.1, 170번째 스텝부터 0.95입니다. 까닭은 2절에서 봅니다
    return min(0.95, (1 + step) / (10 + step))


# 다른 일을 하지 않는 컴퓨터에서 5초쯤 걸립니다. 시드 6개
last, average = losses_by_rate([0.02, 0.05, 0.1, 0.2], ratio)
decayed, _ = losses_by_rate([0.05, 0.1, 0.2, 0.4], ratio, to_zero=True)

# %% tags=["folded"]
# 표와 확인: 가장 좋은 학습률에서 시드 6개의 검증 손실
runs = {"그대로, 마지막": last, "그대로, 평균": average, "0까지 줄임, 마지막": decayed}
chosen = {name: losses[best_rate(losses)] for name, losses in runs.items()}
show_table(
    ["학습률", "가장 좋은 학습률", "검증 손실 (중앙값)", "시드마다"],
    [
        [name, best_rate(runs[name]), f"{median(losses):.3f}", f"{min(losses):.3f} ~ {max(losses):.3f}"]
        for name, losses in chosen.items()
    ],
)
triples = list(zip(*chosen.values(), strict=True))
assert all(mean < final for final, mean, _ in triples)
assert all(abs(mean - zero) < 0.02 for _, mean, zero in triples)
assert median(chosen["그대로, 평균"]) < 0.8 * median(chosen["그대로, 마지막"])
assert all(min(losses) < best_rate(losses) < max(losses) for losses in runs.values())
assert best_rate(average) > best_rate(last)
assert ratio(169) < 0.95 == ratio(170)
assert 0.95**60 < 0.05  # 평균의 95% 넘게가 마지막 60스텝의 가중치입니다
reveal("06-11")

# %% [markdown]
r"""
## 1. 골짜기의 벽에서 바닥으로

약 7분 · ★★☆

학습률을 그대로 두면 가중치는 골짜기의 벽 사이를 계속 오갑니다. 배치마다 그레이디언트가 조금씩 다르기 때문입니다. 학습률을 줄이면 오가는 폭이 줄고, 평균을 내면 오간 것이 서로 지워집니다. 시드 0의 학습을 따라가며 봅니다.
"""

# %%
own, averaged = loss_curves(seed=0, lr=0.1, ratio=ratio)
late = slice(40, 80)  # 5스텝마다 쟀으니 200스텝 뒤
print(f"지금의 가중치: 200스텝 뒤에 {min(own[late]):.3f} ~ {max(own[late]):.3f}")
print(f"평균: 200스텝 뒤에 {min(averaged[late]):.3f} ~ {max(averaged[late]):.3f}")

# %% tags=["folded"]
# 그림과 확인: 한 학습의 검증 손실
figure, axis = plt.subplots(figsize=(6.5, 3.4))
steps = range(5, 401, 5)
axis.plot(steps, own, "--", color=COLORS["muted"], label="지금의 가중치")
axis.plot(steps, averaged, color=COLORS["right"], label="평균")
axis.set(xlabel="스텝", ylabel="검증 손실", ylim=(0, 0.6), title="같은 학습, 다른 가중치")
axis.legend(loc="upper right")
show(
    figure,
    "가로축은 스텝, 세로축은 검증 손실입니다. 지금의 가중치는 내려온 다음에도 위아래로 크게 흔들리고, 평균은 그 흔들림의 "
    "아래쪽에서 매끄럽게 이어집니다.",
)
assert max(averaged[late]) < median(own[late])
assert max(own[late]) - min(own[late]) > 3 * (max(averaged[late]) - min(averaged[late]))

# %% [markdown]
r"""
평균과 0까지 줄인 학습의 손실이 비슷하다면 왜 평균을 쓸까요? 400스텝 동안 0까지 줄이기로 한 학습과 평균을 내는 학습을, 둘 다 200스텝에서 멈춥니다. 학습률은 위에서 저마다 고른 것입니다.
"""

# %%
falling, steady = best_rate(decayed), best_rate(average)
halfway = {
    f"0까지 줄이던 중 (학습률 {falling})": [
        train_following(seed, falling, {}, to_zero=True, stop=200)["마지막"] for seed in SEEDS
    ],
    f"그대로, 평균 (학습률 {steady})": [
        train_following(seed, steady, {"평균": following(ratio)}, stop=200)["평균"] for seed in SEEDS
    ],
}

# %% tags=["folded"]
# 표와 확인: 200스텝에서 멈춘 검증 손실, 시드 6개
early = {name: [loss_and_accuracy(model)[0] for model in models] for name, models in halfway.items()}
show_table(
    ["200스텝에서", "검증 손실 (시드 6개)"],
    [[name, " · ".join(f"{loss:.3f}" for loss in losses)] for name, losses in early.items()],
)
assert all(mean < unfinished for unfinished, mean in zip(*early.values(), strict=True))

# %% [markdown]
r"""
직선으로 0까지 줄이는 학습은 **끝을 미리 정해야** 합니다. 절반에서 멈추면 학습률도 아직 절반이고, 검증 손실은 시드 6개 모두 평균보다 높았습니다. 평균은 언제 멈추어도 됩니다. [레슨 03](../03_bells_and_whistles/4_decay.ipynb)의 WSD처럼 그대로 두다가 멈추기 전에만 줄여도 끝을 나중에 정할 수 있습니다. 평균에는 모델 한 벌의 메모리가 더 들고, 스텝마다 한 번씩 고쳐야 합니다. 또 평균은 float32로 둡니다. bfloat16에서는 한 번에 움직이는 양이 반올림에 묻혀, 비율이 크면 평균이 전혀 움직이지 않습니다.

가장 좋은 학습률도 달라졌습니다. 평균을 쓰면 흔들림을 지워 주므로 더 큰 학습률로 더 빨리 갈 수 있습니다.

## 2. 비율을 더 크게 하면

약 8분 · ★★★

위에서 쓴 0.95 대신 0.999나 0.9999를 쓰는 코드가 많습니다. 학습하지 않은 모델을 복사해 두고, 첫 스텝부터 비율을 0.999로 고정합니다.

**예측.** 400스텝 뒤, 이 평균의 검증 손실은 마지막 가중치와 비교하면 어떨까요?

- a: 훨씬 높습니다.
- b: 비슷합니다.
- c: 낮습니다. 더 오래 평균을 내니 0.95보다도 낮습니다.
"""

# %% tags=["predict"]
predict("06-12")

# %%
rules = {
    "0.999": following(lambda step: 0.999),
    "0.95": following(lambda step: 0.95),
    "0.999까지 서서히": following(lambda step: min(0.999, (1 + step) / (10 + step))),
}
models = [train_following(seed, 0.1, rules) for seed in SEEDS]
found = {name: [loss_and_accuracy(one[name])[0] for one in models] for name in [*rules, "마지막"]}
found["0.999, `AveragedModel`"] = [averaged_model_loss(seed, 0.1, 0.999) for seed in SEEDS]

# %% tags=["folded"]
# 표와 확인: 시드 6개의 검증 손실, 학습률 0.1
show_table(
    ["비율", "검증 손실 (중앙값)", "시드마다"],
    [
        [name, f"{median(losses):.3f}", f"{min(losses):.3f} ~ {max(losses):.3f}"]
        for name, losses in found.items()
    ],
)
assert all(fixed > 3 * final for fixed, final in zip(found["0.999"], found["마지막"], strict=True))
assert all(
    abs(one - other) < 0.03
    for one, other in zip(found["0.999"], found["0.999, `AveragedModel`"], strict=True)
)
slowly = found["0.999까지 서서히"]
assert all(warm < final for warm, final in zip(slowly, found["마지막"], strict=True))
assert all(warm < short for warm, short in zip(slowly, found["0.95"], strict=True))
reveal("06-12")

# %%
fixed = 0.999**400
gradual = math.prod(min(0.999, (1 + step) / (10 + step)) for step in range(400))
print(f"400스텝 뒤의 평균에 남은 처음 가중치: 고정하면 {fixed:.0%}, 서서히 키우면 {gradual:.0e}")
assert 0.66 < fixed < 0.68
assert gradual < 1e-15
assert 0.97 < (1 + 399) / (10 + 399) < 0.98  # 마지막 스텝의 비율

# %% [markdown]
r"""
비율 0.999는 $1/(1-0.999)$, 곧 1,000스텝쯤을 기억합니다. 400스텝밖에 학습하지 않았으니 평균의 67%는 학습하지 않은 가중치입니다. 그래서 비율을 $(1+t)/(10+t)$로 시작해 서서히 키웁니다. 첫 스텝에는 0.1만 남기고, 400스텝이 끝날 때도 0.98쯤이라 아직 0.999에 닿지 않습니다. 그렇게 하면 시드 6개 모두 0.95로 고정한 것보다도 조금 낮습니다. 오래 평균하는 것이 나빴던 것이 아니라, 출발한 자리를 오래 기억한 것이 나빴습니다.

PyTorch의 `AveragedModel`은 첫 업데이트에서 모델을 통째로 복사하니 괜찮을까요? 표에서는 고정한 것과 거의 같습니다. 복사한 것이 **한 스텝만 배운 가중치**이기 때문입니다. 늦게 만드는 것만으로는 모자랍니다. 그 뒤에 남은 스텝이 $1/(1-d)$보다 훨씬 많아야 합니다. `AveragedModel`로 EMA를 쓴다면 비율이 서서히 커지는 `multi_avg_fn`을 줍니다. 평균들, 지금의 가중치들, 지금까지 업데이트한 횟수를 받아 평균들을 제자리에서 고치는 함수입니다.

## 3. 평균하지 않는 것

약 6분 · ★★☆

배치 정규화(batch normalization)가 있는 모델에는 매개변수(parameter) 말고 버퍼(buffer)도 있습니다. 평가할 때 쓰는 이동 통계량입니다.

**예측.** `parameters()`만 평균하고 평균 모델의 버퍼는 처음 만든 값에서 한 번도 바꾸지 않았습니다. 이 평균의 정확도는 어떨까요? 마지막 가중치의 정확도는 시드 6개 모두 95%가 넘습니다.

- a: 마지막과 비슷합니다. 가중치가 주인공입니다.
- b: 90%에도 못 미칩니다.
- c: 모양이 맞지 않아 오류가 납니다.
"""

# %% tags=["predict"]
predict("06-13")

# %%
rules = {"버퍼를 잊음": following(ratio), "버퍼를 복사": following(ratio, copies_buffers=True)}
models = [train_following(seed, 0.1, rules, norm=True) for seed in SEEDS]
for seed, one in zip(SEEDS, models, strict=True):
    one["버퍼를 다시 잼"] = measure_buffers_again(one["버퍼를 잊음"], seed)

# %% tags=["folded"]
# 표와 확인: 시드 6개의 정확도와 검증 손실
scores = {name: [loss_and_accuracy(one[name]) for one in models] for name in models[0]}
show_table(
    ["", "정확도 (시드 6개)", "검증 손실 (중앙값)"],
    [
        [
            name,
            f"{min(right for _, right in runs):.1f} ~ {max(right for _, right in runs):.1f}%",
            f"{median(loss for loss, _ in runs):.3f}",
        ]
        for name, runs in scores.items()
    ],
)
assert all(right < 90 for _, right in scores["버퍼를 잊음"])
for name in ("마지막", "버퍼를 복사", "버퍼를 다시 잼"):
    assert all(right > 95 for _, right in scores[name])
assert median(loss for loss, _ in scores["버퍼를 복사"]) < median(loss for loss, _ in scores["마지막"])
torch_average = AveragedModel(nn.BatchNorm1d(3))
torch_average.update_parameters(now := nn.BatchNorm1d(3).train())
now(torch.randn(8, 3) + 1)
torch_average.update_parameters(now)
assert all(torch.equal(a, b) for a, b in zip(torch_average.module.buffers(), now.buffers(), strict=True))
reveal("06-13")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

평균 모델은 학습 모드로 순전파(forward pass)를 한 적이 없어, 버퍼가 처음 만든 평균 0, 분산 1에 머물러 있습니다. 오류는 나지 않습니다. 학습 모드에서는 배치의 통계량을 쓰니 **평가 모드에서만** 틀립니다.

</details>

방법은 두 가지입니다. 지금 모델의 버퍼를 스텝마다 복사하거나, 평가하기 전에 학습 데이터를 한 번 흘려 다시 잽니다(`torch.optim.swa_utils.update_bn`). 엄밀하게는 다시 재는 쪽이 맞습니다. 이동 통계량은 지금의 가중치에서 나온 것이고 평균 모델의 것이 아니기 때문입니다. 여기서는 둘 다 95%를 넘습니다. `AveragedModel`은 기본값(`use_buffers=False`)에서 업데이트할 때마다 버퍼를 복사하니, 잊는 것은 손으로 쓴 코드입니다.

여기서 쉬어 가도 됩니다. 남은 것은 연습 하나입니다.

### 연습. `ema_update_`

약 18분 · ★★☆

매개변수는 평균하고 버퍼는 복사합니다. `state_dict()`를 도는 코드도 흔하지만, 함께 쓰는 가중치는 거기에 두 번 들어 있습니다. `register_buffer("이름", 텐서, persistent=False)`로 등록한 버퍼는 저장하지 않는 버퍼라서 거기에 아예 없습니다.
"""


# %% tags=["exercise:ema_update_"]
def ema_update_(ema: nn.Module, model: nn.Module, decay: float, step: int) -> float:
    """평균 모델을 지금의 모델 쪽으로 한 번 옮기고, 쓴 비율을 float로 돌려줍니다.

    ema, model: 구조가 같은 모듈입니다. 처음에는 가중치가 다를 수 있습니다.
    step: 몇 번째로 부르는지입니다. 0부터 셉니다.

    비율 d는 decay와 (1 + step) / (10 + step) 가운데 작은 쪽입니다. 처음에는 작아서, 초기 가중치의 영향이 금방 사라집니다.
    매개변수는 d × 평균 + (1 - d) × 지금의 값입니다. 버퍼는 실수든 정수든 지금의 값을 그대로 복사합니다.
    평균 모델은 model과 텐서를 함께 쓰지 않습니다. 제자리에서 바뀌고, 그 뒤에 model이 바뀌어도 따라 바뀌지 않습니다.
    계산 그래프를 만들지 않습니다. model의 값, 두 모델의 모드와 requires_grad와 `.grad`는 바뀌지 않습니다.
    """
    # BEGIN SOLUTION
    d = min(decay, (1 + step) / (10 + step))
    with torch.no_grad():
        for mean, now in zip(ema.parameters(), model.parameters(), strict=True):
            mean.lerp_(now, 1 - d)
        for mean, now in zip(ema.buffers(), model.buffers(), strict=True):
            mean.copy_(now)
    return d
    # END SOLUTION


# %% tags=["check"]
check(ema_update_)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 가중치의 평균을 갱신하며 학습하고, 학습률을 줄이는 것과 무엇이 다른지 말합니다.
- 평균에 처음 가중치가 얼마나 남았는지 계산하고, 비율을 서서히 키웁니다.
- 평균 모델의 버퍼를 복사하거나 다시 잽니다.

여기서 쉬어 가도 됩니다. [다음: 첫 NaN을 찾아서](5_first_nan.ipynb)에서는 숫자가 처음 깨진 계층(layer)을 찾습니다.
"""
