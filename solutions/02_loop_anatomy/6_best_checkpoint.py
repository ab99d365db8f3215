# %% [markdown]
r"""
# 가장 좋은 체크포인트

학습 손실(loss)은 학습에 쓴 데이터만 압니다. 처음 보는 데이터에서도 잘하는지는 따로 재야 합니다(검증, validation). 일부러 어려운 상황을 만들어 재 봅니다.
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import copy
import math
import os
from pathlib import Path

import torch
from matplotlib import pyplot as plt

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.checkpoints import overfit_run, what_is_left
from grader.experiments.loop_anatomy.digits import (
    device,
    flat,
    folder,
    loss_fn,
    make_batches,
    make_model,
    plain_step,
    x_val,
    y_val,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 오래 학습하면

약 5분 · ★☆☆

**예측 1.** 학습 데이터를 120장으로 줄이고 **정답의 20%를 아무 숫자로 바꿉니다.** 60에폭(epoch) 동안 학습 손실은 계속 내려갑니다. 검증 손실은 어떨까요?

- a: 함께 내려갑니다. 속도만 느립니다.
- b: 내려가다가 다시 올라갑니다.
- c: 처음부터 올라갑니다. 틀린 정답을 배우기 때문입니다.
"""

# %% tags=["predict"]
predict("02-11")

# %%
runs = [overfit_run(seed) for seed in range(6)]

# %% tags=["folded"]
# 그림과 표와 확인: 시드 0의 두 곡선, 시드 6개의 가장 낮은 검증 손실
train_curve, val_curve, *_ = runs[0]
best_epoch = val_curve.index(min(val_curve))

figure, axis = plt.subplots()
epochs = range(1, 61)
axis.plot(epochs, train_curve, "--", color=COLORS["third"], label="학습 손실")
axis.plot(epochs, val_curve, color=COLORS["right"], label="검증 손실")
axis.plot(
    best_epoch + 1, min(val_curve), "o", color=COLORS["wrong"], markersize=9, label="가장 낮은 검증 손실"
)
axis.set(title="120장, 정답의 20%를 아무 숫자로 바꾼 학습", xlabel="에폭", ylabel="손실")
axis.legend()
show(
    figure,
    "학습 손실은 60에폭 동안 계속 내려가 0.1에 이릅니다. 검증 손실은 20에폭 안팎까지 내려가다가 다시 올라갑니다. "
    "가장 낮은 곳에 점이 있습니다.",
)
show_table(
    ["시드", "가장 낮은 검증 손실", "그 에폭", "마지막 검증 손실"],
    [[seed, min(run[1]), run[1].index(min(run[1])) + 1, run[1][-1]] for seed, run in enumerate(runs)],
)
for train_losses, val_losses, *_ in runs:
    assert train_losses[-1] < 0.3
    assert val_losses.index(min(val_losses)) < 45
    assert val_losses[-1] > 1.1 * min(val_losses)
reveal("02-11")

# %% [markdown]
r"""
시드 6개 모두 그렇습니다. 오래 학습하면 데이터의 잡음까지 외웁니다. 과적합(overfitting)입니다. **가장 좋은 모델은 마지막 모델이 아닙니다.** 그래서 검증 손실이 가장 낮을 때마다 모델을 적어 둡니다.

## 2. 그 순간을 적어 두기

약 10분 · ★★☆

**예측 2.** 검증 손실이 가장 낮을 때마다 `best_state = model.state_dict()`로 적어 둡니다. 60에폭 뒤에 `best_state`에는 무엇이 들어 있을까요?

- a: 마지막 에폭의 가중치(weight)
- b: 검증 손실이 가장 낮았던 에폭의 가중치
- c: 아무것도 없는 빈 dict
"""

# %% tags=["predict"]
predict("02-12")


# %%
def keep_in_four_ways(model):
    """지금의 가중치를 네 가지 방법으로 적어 둡니다. 비교할 때 쓸 값도 하나 복사해 둡니다."""
    torch.save(model.state_dict(), folder / "overfit.pt")
    ways = {
        "`model.state_dict()`": model.state_dict(),
        "`dict(model.state_dict())`": dict(model.state_dict()),
        "`copy.deepcopy(model.state_dict())`": copy.deepcopy(model.state_dict()),
    }
    return ways, flat(model.parameters())


*_, model, (kept, best_weights) = overfit_run(0, keep_in_four_ways)
kept["`torch.save`한 파일"] = torch.load(folder / "overfit.pt", weights_only=True, map_location=device)

# %% tags=["folded"]
# 표와 확인: 적어 둔 것이 가장 좋았던 가중치인지, 마지막 가중치인지
last_weights = flat(model.parameters())
rows = []
for how, state in kept.items():
    weights = flat(state.values())
    rows.append(
        [
            how,
            *("예" if torch.equal(weights, other) else "아니요" for other in (best_weights, last_weights)),
        ]
    )
show_table(["적어 둔 방법", "가장 좋았던 가중치와 같은지", "마지막 가중치와 같은지"], rows)
assert [row[1:] for row in rows] == [["아니요", "예"]] * 2 + [["예", "아니요"]] * 2
reveal("02-12")

# %% [markdown]
r"""
`state_dict()`의 텐서는 복사본이 아니라 모델의 텐서입니다. 업데이트하면 함께 바뀝니다. `dict(...)`와 `.copy()`도 소용없습니다. 겉의 dict만 새것이고 텐서는 그대로입니다. 깊은 복사본을 만들거나 파일에 씁니다. 파일이 낫습니다. 프로세스가 죽어도 남기 때문입니다. 실제 사례: 공식 튜토리얼과 다른 프로젝트에 있던 버그입니다([tutorials#188](https://github.com/pytorch/tutorials/pull/188), [OpenKE#131](https://github.com/thunlp/OpenKE/pull/131), [PyPOTS#667](https://github.com/WenjieDu/PyPOTS/issues/667)).

「더 좋은가」를 비교하는 줄에도 함정이 있습니다. 검증 점수가 NaN이면 어떻게 될까요? NaN과 크기를 비교하면 언제나 거짓입니다.
"""

# %%
scores = [0.7, 0.9, math.nan, 0.8]
rules = {
    "`score > best`": lambda score, best: score > best,
    "`not score <= best`": lambda score, best: not score <= best,
}
kept_score = {}
for rule, better in rules.items():
    best = -math.inf
    for score in scores:
        if better(score, best):
            best = score
    kept_score[rule] = best

# %% tags=["folded"]
# 표와 확인: 조건마다 마지막에 남는 최고 점수
show_table(["조건", f"점수 {scores} 다음에 남는 최고"], kept_score.items())
assert kept_score["`score > best`"] == 0.9
assert kept_score["`not score <= best`"] == 0.8  # NaN이 0.9를 밀어내고, 다음 것은 무엇이든 저장됩니다

# %% [markdown]
r"""
## 3. 저장하다가 죽으면

약 10분 · ★★☆

**예측 3.** `best.pt`에 지금까지 가장 좋은 모델이 있습니다. 더 좋은 새 모델을 같은 이름에 바로 저장하는 도중에 디스크가 찼습니다. `best.pt`에는 무엇이 남을까요?

- a: 예전 모델이 그대로 남습니다.
- b: 새 모델이 쓰인 데까지만 열립니다.
- c: 열리지 않는 파일이 남습니다.
"""

# %% tags=["predict"]
predict("02-13")


# %%
# opener는 open과 같지만, 둘째 저장에서는 4,000바이트를 쓰면 꽉 차는 디스크를 흉내 냅니다
def save_in_place(state, path, opener):
    with opener(path, "wb") as file:
        torch.save(state, file)


def save_beside(state, path, opener):
    """옆에 다 쓴 다음 이름을 바꿉니다. 이름 바꾸기는 중간이 없습니다."""
    temporary = path.with_suffix(".tmp")
    with opener(temporary, "wb") as file:
        torch.save(state, file)
    os.replace(temporary, path)


# %% tags=["folded"]
# 표와 확인: 예전 모델(점수 0.9)을 저장하고, 새 모델(0.95)을 저장하다가 죽은 다음 파일을 엽니다
left = {save.__name__: what_is_left(save) for save in (save_in_place, save_beside)}
show_table(["저장 방법", "다시 열면"], left.items())
assert left["save_in_place"].startswith("열리지 않음")
assert left["save_beside"] == "점수 0.9"
reveal("02-13")

# %% [markdown]
r"""
쓰려고 여는 순간 지난 파일은 비워집니다. 그다음에 죽으면 반쪽만 남습니다. 디스크가 찰 때만이 아니라, 작업 시간이 끝나 프로세스가 죽을 때도 같습니다. 하필 **가장 좋은 모델을 저장하는 순간**에 파일을 잃습니다. 옆에 다 쓰고 `os.replace`로 이름을 바꾸면, 어느 순간에 죽어도 지난 파일이나 새 파일이 온전합니다. 전원이 나가는 것까지 대비하려면 이름을 바꾸기 전에 `os.fsync`도 부릅니다.

### 연습 6. `BestCheckpoint`

약 40분 · ★★★

점수가 지금까지 나온 것 가운데 가장 높을 때만 저장하는 클래스입니다. 지금까지 본 것이 모두 들어갑니다. 그 순간의 상태를, 옵티마이저(optimizer)와 스케줄러까지, 설정과 함께, 옆에 쓴 다음 이름을 바꿔서 저장합니다. 설정은 `to_dict()`가 있는 객체([설정](5_configuration.ipynb)에서 만든 `TrainConfig`)이거나 dict입니다. `score`는 NumPy 값일 수 있으니 평범한 `float`로 바꿉니다.
"""


# %% tags=["exercise:BestCheckpoint"]
class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        """path: 체크포인트 파일의 경로입니다. str이나 Path입니다. 이미 있던 파일의 점수는 세지 않고, 처음 저장할 때 덮어씁니다."""
        # BEGIN SOLUTION
        self.path = Path(path)
        self.best = None
        # END SOLUTION

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        """score가 지금까지의 어떤 점수보다 높으면 저장하고, 저장했는지를 돌려줍니다.

        첫 점수는 0.0이어도 저장합니다. NaN은 저장하지 않습니다.
        config는 TrainConfig이거나 dict입니다. 파일에는 어느 쪽이든 dict로 담습니다.
        파일의 키는 model, optimizer, scheduler, step, score, config입니다. 다른 키가 더 있어도 됩니다. weights_only=True로 열려야 합니다.
        저장하다 끊겨도 path에는 예전 파일이나 새 파일이 온전히 남아야 합니다.
        저장이 예외로 끝났을 때 그 점수를 지금까지의 점수로 칠지는 정하지 않습니다.
        """
        # BEGIN SOLUTION
        score = float(score)
        if math.isnan(score):
            return False
        if self.best is not None and score <= self.best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        # 옆에 다 쓴 다음 이름을 바꿉니다. 쓰다가 죽어도 예전 파일은 그대로입니다
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True
        # END SOLUTION


# %% tags=["check"]
check(BestCheckpoint)

# %% [markdown]
r"""
## 4. 버그 찾기: 점수를 바꾼 루프

약 5분 · ★★☆

정확도로 잘 돌던 루프에서 점수만 「음의 검증 손실」로 바꾸었습니다. 높을수록 좋은 점수인 것은 같습니다. **읽고, 고른 다음, 실행하세요.**
"""


# %% tags=["find-the-bug"]
def loop_3(model, opt, batches, epochs, path):
    best = 0.0
    for epoch in range(epochs):
        for batch in batches:
            plain_step(model, opt, batch)  # 다섯 줄
        with torch.no_grad():
            score = -loss_fn(model(x_val), y_val).item()
        if score > best:
            best = score
            torch.save(model.state_dict(), path)
        print(f"에폭 {epoch + 1}: 점수 {score:.3f}")


# %% [markdown]
r"""
**예측 4.** 세 에폭 뒤 `path`의 파일은 어떨까요?

- a: 가장 좋았던 에폭의 모델이 있습니다.
- b: 마지막 에폭의 모델이 있습니다.
- c: 파일이 없습니다.
"""

# %% tags=["predict"]
predict("02-bug3")

# %%
model = make_model(seed=22)
path = folder / "loop_3.pt"
loop_3(model, torch.optim.SGD(model.parameters(), lr=0.3), make_batches(seed=22), 3, path)
print("파일이 있는지:", "예" if path.exists() else "아니요")

# %% tags=["folded"]
# 확인: 파일이 있는지
assert not path.exists()
reveal("02-bug3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`best = 0.0`은 「점수는 언제나 0보다 크다」는 가정입니다. 정확도에서도 첫 점수가 0.0이면 저장하지 않습니다. 검증 데이터가 몇 장뿐인 시험에서는 그럴 수 있습니다. 파일이 없다는 것은 학습이 다 끝난 뒤에 알게 됩니다. `best = None`으로 시작해 첫 점수는 무조건 저장하거나, `-math.inf`로 시작합니다.

</details>

## 이제 할 수 있는 것

- 과적합을 학습·검증 손실 곡선에서 읽고, 가장 좋은 순간의 **복사본**을 남깁니다.
- 저장하다가 죽어도 지난 파일이나 새 파일이 온전하게 합니다.
- NaN과 0.0을 포함해 어떤 점수가 와도 바르게 비교합니다.

파일 하나를 믿을 수 있게 되었으니 쉬기 좋은 때입니다. 다음 노트북에서는 그 파일에서 학습을 이어 갑니다.

[다음: 이어서 학습하기](7_resume.ipynb)
"""
