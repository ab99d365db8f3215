# %% [markdown]
r"""
# 스케줄: 학습률을 스텝마다 바꿉니다

학습하는 동안 학습률(learning rate)을 어떻게 바꿀지 정한 것이 스케줄(schedule)입니다. 처음에 조금씩 올리는 것이 워밍업(warmup)이고, 끝으로 갈수록 내리는 것이 감쇠(decay)입니다.
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import copy
import math
from statistics import median

import torch
from matplotlib import pyplot as plt
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, OneCycleLR, ReduceLROnPlateau, StepLR

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.schedules import (
    cosine_by_formula,
    rates_of,
    scheduled_run,
    warmup_then_cosine,
)
from grader.experiments.loop_anatomy.whiteboard import grade_amp
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 워밍업과 감쇠의 몫

약 7분 · ★★☆

**예측 1.** 3계층 ReLU 모델, AdamW, 최고 학습률 0.05, 세 에폭(epoch)입니다. 마지막 학습 손실(loss)이 가장 낮은 것은 무엇일까요?

- a: 워밍업만
- b: 코사인 감쇠(cosine decay)만
- c: 워밍업과 코사인 감쇠
"""

# %% tags=["predict"]
predict("02-9")

# %%
SCHEDULES = {
    "상수": lambda opt: LambdaLR(opt, lambda k: 1.0),
    "워밍업만": lambda opt: LambdaLR(opt, lambda k: min(1.0, (k + 1) / 15)),
    "코사인만": lambda opt: CosineAnnealingLR(opt, T_max=135),
    "워밍업 + 코사인": lambda opt: warmup_then_cosine(opt, 15, 135),
}
runs = {name: [scheduled_run(make, seed) for seed in range(6)] for name, make in SCHEDULES.items()}

# %% tags=["folded"]
# 표와 확인: 네 스케줄, 시드 6개의 중앙값
finals, peaks = {}, {}
for name in SCHEDULES:
    finals[name], peaks[name] = zip(*runs[name], strict=True)
show_table(
    ["스케줄 (시드 6개의 중앙값)", "마지막 학습 손실", "초반의 가장 높은 손실"],
    [[name, f"{median(finals[name]):.3f}", f"{median(peaks[name]):.2f}"] for name in SCHEDULES],
)
assert median(finals["코사인만"]) < 0.65 * median(finals["상수"])
assert median(finals["코사인만"]) < 0.75 * median(finals["워밍업만"])
assert median(finals["워밍업 + 코사인"]) < 0.85 * median(finals["코사인만"])
assert median(peaks["워밍업만"]) < median(peaks["상수"])
letters = {"워밍업만": "a", "코사인만": "b", "워밍업 + 코사인": "c"}
lowest = min(letters, key=lambda name: median(finals[name]))
reveal("02-9", measured=letters[lowest])

# %% [markdown]
r"""
학습률 0.05는 처음에도 끝에도 너무 큽니다. 워밍업은 초반의 가장 높은 손실을 낮추고, 감쇠는 마지막 손실을 절반쯤으로 낮춥니다. 이 설정에서는 감쇠의 몫이 더 크고, 둘을 함께 쓸 때 가장 낮습니다. AdamW의 처음 몇 스텝(step)이 왜 거친지는 03에서 잽니다.

최고 학습률이 너무 크지 않으면 이야기가 달라집니다. 0.005로 낮추어 다시 재 보세요.
"""

# %%
gentle = {
    name: [scheduled_run(SCHEDULES[name], seed, lr=0.005)[0] for seed in range(6)]
    for name in ["상수", "워밍업 + 코사인"]
}

# %% tags=["folded"]
# 표와 확인: 최고 학습률 0.05와 0.005, 마지막 학습 손실의 중앙값
show_table(
    ["스케줄 (시드 6개의 중앙값)", "최고 학습률 0.05", "최고 학습률 0.005"],
    [[name, f"{median(finals[name]):.3f}", f"{median(losses):.3f}"] for name, losses in gentle.items()],
)
for constant, both in zip(gentle["상수"], gentle["워밍업 + 코사인"], strict=True):
    assert constant < both

# %% [markdown]
r"""
0.005에서는 시드 6개 모두 상수가 더 낮습니다. 줄일 까닭이 없는 학습률을 줄이면 덜 나아갈 뿐입니다. 스케줄은 **큰 최고 학습률을 쓸 수 있게** 해 주는 부품입니다.

## 2. 언제 끝나는가

약 8분 · ★★☆

코사인 스케줄은 전체 스텝 수를 미리 알아야 합니다.

**예측 2.** 전체를 100스텝으로 계획했는데 학습을 130스텝까지 합니다. `CosineAnnealingLR`과 `OneCycleLR`은 어떻게 될까요?

- a: 둘 다 가장 낮은 학습률에 머뭅니다.
- b: 둘 다 계획이 끝났다는 오류를 냅니다.
- c: 하나는 다시 올라가고, 하나는 오류를 냅니다.
"""

# %% tags=["predict"]
predict("02-10")

# %%
# 최고 학습률을 1로 놓고 130스텝의 학습률을 적습니다. 오류가 나면 거기까지입니다
curves = {
    "워밍업 + 코사인": rates_of(lambda opt: warmup_then_cosine(opt, 10, 100)),
    "OneCycle": rates_of(lambda opt: OneCycleLR(opt, max_lr=1.0, total_steps=100)),
    "계단 감쇠": rates_of(lambda opt: StepLR(opt, step_size=30, gamma=0.1)),
}

# %% tags=["folded"]
# 그림과 확인: 세 스케줄의 학습률, 식으로 계산한 것과의 비교
figure, axis = plt.subplots(figsize=(7.2, 3.8))
styles = [("right", "-"), ("wrong", "--"), ("third", "-.")]
for (name, (rates, _)), (color, style) in zip(curves.items(), styles, strict=True):
    axis.plot(rates, style, color=COLORS[color], label=name)
axis.axvspan(100, 130, color=COLORS["grid"], alpha=0.6)
axis.text(101.5, 0.62, "계획 밖", color=COLORS["muted"])
axis.set(title="100스텝으로 계획한 세 스케줄", xlabel="스텝", ylabel="최고 학습률에 대한 비")
axis.legend(loc="upper right")
show(
    figure,
    "세 학습률 곡선. 워밍업과 코사인은 10스텝에 1까지 올라 100스텝 가까이에서 0이 되고, 100스텝을 지나면 다시 올라갑니다. "
    "OneCycle은 30스텝에 1이 되었다가 100스텝에서 끝납니다. 계단 감쇠는 30스텝마다 10분의 1이 됩니다.",
)
cosine, one_cycle = curves["워밍업 + 코사인"], curves["OneCycle"]
print(
    f"코사인의 학습률: 99스텝 {cosine[0][99]:.4f}, 101스텝 {cosine[0][101]:.4f}, 129스텝 {cosine[0][129]:.4f}"
)
print("OneCycle:", one_cycle[1])
assert max(abs(cosine_by_formula(k) - cosine[0][k]) for k in range(100)) < 1e-9
assert cosine[0][129] > 0.1 > cosine[0][99]
assert one_cycle[1] is not None
assert len(one_cycle[0]) <= 101  # 계획한 만큼만 갔습니다
assert abs(curves["계단 감쇠"][0][29] - 1.0) < 1e-9
assert abs(curves["계단 감쇠"][0][30] - 0.1) < 1e-9
# 검증 손실을 받는 스케줄러는 그 값 없이 부르면 오류입니다
plateau = ReduceLROnPlateau(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0))
try:
    plateau.step()
    needs_loss = False
except TypeError:
    needs_loss = True
assert needs_loss
reveal("02-10")

# %% [markdown]
r"""
`OneCycleLR`은 계획한 스텝을 넘기면 오류를 냅니다. 코사인은 주기 함수여서 다시 올라갑니다. 에폭을 늘리고 `total_steps`를 그대로 두면 끝에서 다시 튑니다.

| 스케줄 | 흔히 쓰는 곳 |
|---|---|
| 워밍업 + 코사인 | 트랜스포머의 사전 학습. 길이를 미리 정하고 끝까지 갑니다 |
| OneCycle | 짧은 미세 조정. 처음부터 끝까지 한 번의 오르내림입니다 |
| 계단 감쇠 | 예전의 CNN 레시피. 정한 에폭마다 10분의 1로 낮춥니다 |
| `ReduceLROnPlateau` | 길이를 모를 때. 검증 손실이 더 내려가지 않으면 낮춥니다. 에폭마다 `scheduler.step(val_loss)`로 그 값을 넘깁니다 |

어느 것이 가장 좋다는 뜻은 아닙니다. 길이, 최고 학습률과 함께 정하는 하이퍼파라미터(hyperparameter)입니다. 앞의 셋은 **스텝마다** 부르면 스텝을 세고, 에폭마다 부르면 에폭을 셉니다. 단위는 스케줄러가 아니라 부르는 자리가 정합니다.

### 연습 4. `warmup_cosine`

약 25분 · ★★☆

식 하나로 씁니다. 첫 업데이트의 학습률이 0이면 그 스텝을 버리므로 `(k + 1) / warmup_steps`로 셉니다. 끝을 지나면 0에 머물러야 합니다. 매개변수(parameter) 그룹마다 학습률이 다르면 **각자의 학습률에** 같은 배율을 곱합니다. `LambdaLR`이 바로 그렇게 합니다.
"""


# %% tags=["exercise:warmup_cosine"]
def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    """매개변수 그룹마다 자기 학습률에 같은 배율을 곱하는 스케줄러를 만듭니다.

    k번째 업데이트(0부터)의 배율:
        k < warmup_steps     (k + 1) / warmup_steps
        그 뒤                0.5 · (1 + cos(π · (k − warmup_steps) / (total_steps − warmup_steps)))
        k ≥ total_steps      0
    warmup_steps는 0일 수 있습니다.
    """
    # BEGIN SOLUTION

    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        # 코사인은 끝을 지나면 다시 올라갑니다
        if k >= total_steps:
            return 0.0
        progress = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    # 배율 하나를 그룹마다 자기 학습률에 곱합니다
    return torch.optim.lr_scheduler.LambdaLR(opt, factor)
    # END SOLUTION


# %% tags=["check"]
check(warmup_cosine)

# %% [markdown]
r"""
### 보너스 1. `lr_range_test`

약 30분 · ★★★

보너스는 점수에 들어가지 않고 힌트도 없습니다. 건너뛰어도 뒤를 읽는 데 지장이 없습니다.

최고 학습률은 어떻게 고를까요? 흔히 쓰는 방법은 **학습률 범위 시험**입니다([Smith, 2015](https://arxiv.org/abs/1506.01186)). 학습률을 아주 작은 값에서 키워 가며 한 스텝씩 업데이트하고, 손실이 어느 학습률부터 내려가고 어느 학습률에서 튀는지 봅니다. 본 학습을 시작하기 전에 재기만 하는 것이므로, 끝나면 **아무 일도 없었던 것과 같아야 합니다.** 되돌릴 것은 가중치(weight)만이 아닙니다.
"""


# %% tags=["exercise:lr_range_test"]
def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    """lrs의 학습률마다 한 번씩 차례로 업데이트해 보고, 업데이트하기 전의 손실을 float의 리스트로 돌려줍니다.

    batches: 비어 있지 않은 (xb, yb)의 리스트입니다. 학습률마다 다음 배치를 하나 쓰고, 배치가 모자라면 처음부터 다시 씁니다.
    lrs: 학습률의 리스트입니다. 오르는 순서가 아니어도 받은 순서대로, 업데이트할 때 모든 매개변수 그룹에 그 학습률을 씁니다.
        비어 있으면 업데이트하지 않고 빈 리스트를 돌려줍니다.

    - opt로 업데이트하되 이번 배치의 그레이디언트만 씁니다. 부르기 전에 남아 있던 것은 쓰지 않습니다.
    - 손실이 inf, -inf, NaN이면 그 손실은 리스트에 넣지 않고 거기서 끝냅니다. 아무리 커도 유한하면 끝내지 않습니다.
    - 모듈마다의 모드는 도중에도 끝난 뒤에도 받은 그대로입니다.
    - 끝나면 model.state_dict()의 매개변수와 버퍼, 옵티마이저의 상태, 그룹마다의 학습률이 부르기 전과 같습니다.
    - 끝나면 어느 매개변수에도 그레이디언트가 없습니다(None이나 0). opt에 없는 매개변수도, lrs가 비었을 때도 마찬가지입니다.
    - 도중에 예외가 나면 모두 되돌린 다음 그 예외를 그대로 냅니다. Ctrl+C(KeyboardInterrupt)도 예외입니다.
    - 난수의 상태는 되돌리지 않아도 됩니다.
    """
    # BEGIN SOLUTION
    # state_dict()의 텐서는 복사본이 아니므로 깊은 복사본을 만듭니다
    model_state = copy.deepcopy(model.state_dict())
    opt_state = copy.deepcopy(opt.state_dict())
    losses = []
    try:
        for k, lr in enumerate(lrs):
            xb, yb = batches[k % len(batches)]
            for group in opt.param_groups:
                group["lr"] = lr
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            if not math.isfinite(loss.item()):
                break
            losses.append(loss.item())
            loss.backward()
            opt.step()
    # 일찍 끝나도, 예외가 나도 되돌립니다
    finally:
        model.load_state_dict(model_state)
        opt.load_state_dict(opt_state)
        # opt에 없는 매개변수에도 그레이디언트가 쌓였습니다
        model.zero_grad()
    return losses
    # END SOLUTION


# %% tags=["check"]
check(lr_range_test)

# %% [markdown]
r"""
## 3. 화이트보드: float16 한 스텝

약 20분 · ★★★

한 스텝을 이루는 부품이 다 모였습니다. 앞 노트북을 보지 말고 float16 한 스텝을 씁니다. 지우기부터 스케줄러까지 아홉 줄쯤입니다. 스케일러는 켜져 있고, `max_norm`으로 클리핑합니다. 다 쓴 다음 아래 셀을 실행하면 스케일러 없이 손으로 계산한 업데이트와 비교합니다. 채점하지 않습니다.
"""


# %% tags=["whiteboard"]
def amp_from_memory(model, opt, scaler, scheduler, loss_fn, xb, yb, max_norm): ...


# %%
print(grade_amp(amp_from_memory))

# %% tags=["folded"]
# 확인: 비어 있는 함수는 움직이지 않습니다
assert "움직이지 않았습니다" in grade_amp(lambda *args: None)

# %% [markdown]
r"""
## 이제 할 수 있는 것

- 워밍업과 감쇠의 몫을 재고, 언제 도움이 되지 않는지 말합니다.
- 스케줄이 스텝을 세는지 에폭을 세는지, 계획이 끝나면 어떻게 되는지 확인합니다.
- float16 한 스텝을 아무것도 보지 않고 씁니다.

레슨의 절반을 지났습니다. **하루를 마치기 좋은 자리입니다.** 나머지 절반에서는 이 한 스텝을 며칠 동안 되풀이할 때 필요한 것, 곧 설정과 체크포인트와 이어 가기를 다룹니다.

[다음: 설정](5_configuration.ipynb)
"""
