# %% [markdown]
r"""
# 손실이 튈 때

약 5분 · ★★☆

[노트북 2](2_adamw.ipynb)에서는 5,000스텝을 학습한 다음 튄 그레이디언트(gradient) 하나가 가중치(weight)를 학습률의 31.6배 옮겼고, 걸음은 쉰 번쯤 이어졌습니다. 그때는 움직인 거리를 쟀고, 이번에는 손실(loss)을 봅니다.

숫자 사진을 AdamW로 160스텝(step) 학습합니다. 학습률(learning rate)은 0.01, $\beta_2$는 기본값 0.999입니다. 80번째 스텝(0부터)에서 손실에 512를 곱해 역전파(backward pass)합니다. 혼합 정밀도에서 손실에 곱한 배율로 그레이디언트를 그 한 스텝만 다시 나누지 않고 업데이트한 것과 같습니다. 배치 자체는 멀쩡합니다. 모델은 은닉 계층(hidden layer)이 하나이고, 그 끝에 tanh가 있습니다.

**예측.** 스텝마다 검증 손실을 잽니다. 언제 가장 높을까요?

- a: 그 배치로 업데이트한 바로 다음. 가장 긴 걸음은 첫 걸음입니다.
- b: 그보다 5스텝에서 15스텝 뒤
- c: 그보다 30스텝 넘게 뒤. 다 옮겨졌을 때 가장 나쁩니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 배치 하나의 그레이디언트가 512배인 학습
import math
from statistics import median

import torch
from matplotlib import pyplot as plt

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.why_it_does_not_learn.spikes import ROGUE, distance_of_one_gradient, spike_runs
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)


def spelled(losses):
    return " · ".join(f"{loss:.2f}" for loss in losses)


def between(values, form=".2f"):
    low, *_, high = (f"{value:{form}}" for value in sorted(values))
    return low if low == high else f"{low} ~ {high}"


# %% tags=["predict"]
predict("06-17")

# %%
calm = spike_runs(factor=1.0)  # 튀는 배치 없이, 시드 6개
spiked = spike_runs()
for name, runs in [("튀는 배치 없음", calm), ("튀는 배치", spiked)]:
    print(f"{name}: 바로 다음 {spelled(run.val_losses[0] for run in runs)}")
    print(f"{name}: 가장 높을 때 {spelled(run.worst for run in runs)}")

# %% tags=["folded"]
# 그림과 확인: 튀는 배치 다음의 검증 손실, 시드 0
figure, axis = plt.subplots(figsize=(7.2, 3.4))
for runs, color, style, label in [
    (spiked, COLORS["wrong"], "-", "튀는 배치"),
    (calm, COLORS["right"], "--", "튀는 배치 없음"),
]:
    axis.plot(*zip(*runs[0].val_losses.items(), strict=True), style, color=color, label=label)
axis.set(title="손실은 여러 스텝 뒤에 가장 높습니다", xlabel="튀는 배치 다음의 스텝", ylabel="검증 손실")
axis.legend()
show(
    figure,
    "검증 손실, 시드 0. 튀는 배치 바로 다음에는 0.2 아래이고, 11스텝 뒤에 1.7까지 솟았다가 천천히 내려갑니다. "
    "튀는 배치가 없는 곡선은 0.2 언저리에서 조금씩 내려갑니다.",
)
print("가장 높을 때까지의 스텝:", [run.worst_at for run in spiked])
longer = [run.readings[0].stride / run.readings[-1].stride for run in spiked]
print(f"튀는 배치의 걸음은 바로 앞 걸음의 {between(longer, '.1f')}배")
assert all(7 <= run.worst_at <= 12 for run in spiked)
assert all(3 < times < 6 for times in longer)
assert all(run.worst > 1.5 for run in spiked)
assert all(run.val_losses[0] < 0.3 for run in spiked)
assert max(run.worst for run in calm) < 0.3
reveal("06-17")

# %% [markdown]
r"""
## 1. 배치 하나가 옮기는 거리

약 10분 · ★★☆

그 배치로 업데이트한 바로 다음의 손실은 평소와 비슷합니다. AdamW가 크기로 나누어, 그 스텝의 걸음은 바로 앞 걸음의 3배에서 6배에 그치기 때문입니다. 손실은 그다음 걸음들이 **같은 쪽으로** 쌓이며 솟습니다. 보정을 빼고 적으면, $k$스텝 뒤에 $m$에 남은 몫은 $0.1 \times 0.9^k$이고, 나누는 수에 남은 몫은 $\sqrt{(1-\beta_2)\,\beta_2^k}$입니다. 스텝마다의 걸음을 모두 더하면, 튀는 배치 하나가 가중치를 옮기는 거리입니다.

**예측.** $\beta_2$를 0.95로 줄이면 손실이 튀는 높이는 어떻게 될까요?

- a: 낮아집니다.
- b: 높아집니다. 최근의 것만 기억하니 튀는 배치의 몫이 더 큽니다.
- c: 같습니다. $\beta_2$는 $m$과 관계가 없습니다.
"""

# %% tags=["predict"]
predict("06-18")

# %%
rows, worst = [], {}
for beta2 in [0.999, 0.95]:
    for rate in [0.003, 0.01, 0.03]:
        worst[beta2, rate] = [run.worst for run in spike_runs(beta2=beta2, rate=rate)]
        end = median(run.end for run in spike_runs(beta2=beta2, rate=rate, factor=1.0))
        rows.append([beta2, rate, spelled(worst[beta2, rate]), end])

# %% tags=["folded"]
# 표와 확인: 튀는 배치 뒤에 가장 높은 검증 손실(시드 6개)과, 튀는 배치가 없을 때의 마지막 손실의 중앙값
show_table(["$\\beta_2$", "학습률", "가장 높은 손실", "튀는 배치가 없을 때의 마지막 손실"], rows)
distances = {
    (update, beta2): distance_of_one_gradient(update, beta2)
    for update in (81, 5001)
    for beta2 in (0.999, 0.95)
}
for (update, beta2), distance in distances.items():
    print(f"{update:,}번째 업데이트, β₂ {beta2}: 학습률의 {distance:.1f}배")
for rate in (0.003, 0.01, 0.03):
    assert all(one > other for one, other in zip(worst[0.999, rate], worst[0.95, rate], strict=True))
assert [f"{distance:.1f}" for distance in distances.values()] == ["9.3", "5.8", "31.7", "5.8"]
reveal("06-18")

# %% [markdown]
r"""
0.999는 튀는 그레이디언트의 제곱을 조금만 받아들여 분모가 덜 커집니다. 0.95는 많이 받아들여 분모가 바로 커집니다. 여기서는 81번째 업데이트라 보정이 아직 커서, 튀는 배치 하나가 옮기는 거리가 학습률의 9.3배와 5.8배입니다. 노트북 2처럼 5,001번째라면 31.7배와 5.8배로 벌어집니다(거기의 31.6은 60걸음 뒤까지만 더한 값입니다). 세 학습률과 시드 6개 모두 0.95 쪽이 덜 튑니다. 큰 언어 모델에서 0.95를 쓰는 까닭으로 흔히 이것을 듭니다. 그렇다고 튀지 않는 것은 아닙니다.

## 2. 세 가지 대처

약 10분 · ★★☆

대처는 셋입니다. 실행하기 전에, 어느 것이 튀는 배치가 없던 학습에 가장 가까울지 적어 두세요.

- **클리핑**(clipping): 노름(norm)이 1을 넘으면 1로 줄여서 업데이트합니다.
- **건너뛰기**: 노름이 최근 20개의 중앙값의 4배를 넘으면 업데이트하지 않습니다.
- **되돌리기**: 배치 손실이 최근 20개의 중앙값의 4배를 넘으면, 저장해 둔 모델과 옵티마이저로 돌아갑니다. 10스텝마다 저장하고 둘 가운데 앞의 것을 쓰므로, 10스텝에서 20스텝 전입니다. 옵티마이저의 상태를 일부만 되돌리는 것도 비교합니다. 데이터는 되감지 않고 다음 배치로 이어 갑니다.
"""

# %%
remedies = {"없음": spiked}
for name, remedy in [
    ("클리핑", "clip"),
    ("건너뛰기", "skip"),
    ("되돌리기", "roll back"),
    ("가중치만 되돌리기", "roll back weights"),
    ("가중치와 $m$ 되돌리기", "roll back weights and m"),
    ("가중치와 $v$ 되돌리기", "roll back weights and v"),
]:
    remedies[name] = spike_runs(remedy)

# %% tags=["folded"]
# 표와 확인: β₂ 0.999, 학습률 0.01, 시드 6개
show_table(
    ["대처", "가장 높은 손실", "마지막 손실 (중앙값)", "시드마다 되돌린 횟수"],
    [
        [
            name,
            spelled(run.worst for run in runs),
            median(run.end for run in runs),
            between((run.rolled_back for run in runs), "d"),
        ]
        for name, runs in [*remedies.items(), ("튀는 배치 없음", calm)]
    ],
)
assert all(run.skipped == 1 for run in remedies["건너뛰기"])
for name in ("클리핑", "건너뛰기"):
    assert max(run.worst for run in remedies[name]) < 0.3
    pairs = zip(remedies[name], calm, strict=True)
    assert all(abs(run.end - other.end) < 0.02 for run, other in pairs)
whole, part, with_m, with_v = list(remedies.values())[3:]
strides = {name: [run.late_stride for run in remedies[name]] for name in ("없음", "가중치와 $m$ 되돌리기")}
strides["튀는 배치 없음"] = [run.late_stride for run in calm]
print("마지막 40스텝의 걸음 (학습률의 몇 배, 중앙값)")
for name, found in strides.items():
    print(f"  {name.replace('$', '')}: {between(found, '.3f')}")
assert all(run.worst > 0.5 for run in [*whole, *part, *with_m])
assert all(one.end < other.end for one, other in zip(whole, part, strict=True))
assert sum(run.rolled_back == 1 for run in whole) == 5
assert all(run.rolled_back == 2 for run in part)
assert all(run.rolled_back == 1 for run in with_m)
assert all(run.rolled_back >= 20 for run in with_v)
for hurt, with_old_v, usual in zip(*strides.values(), strict=True):
    assert hurt < usual
    assert usual / 4 < with_old_v < 0.6 * usual

# %% [markdown]
r"""
클리핑과 건너뛰기는 마지막 손실이 튀는 배치가 없던 학습과 0.02도 다르지 않습니다. 이 배치는 방향이 멀쩡하고 크기만 컸으니, 줄여서 쓰는 것도 괜찮았습니다. 라벨이 엉망인 배치처럼 방향까지 틀렸다면, 줄여서 쓰는 것은 틀린 쪽으로 조금 가는 것입니다.

되돌리기는 **손실을 보고 나서야** 움직입니다. 시드 6개 모두 검증 손실이 0.5를 넘은 다음에 돌아왔습니다. 무엇을 함께 되돌리느냐에 따라 그다음이 다릅니다.

| 되돌린 것 | 남은 것 | 어떻게 되었나요 | 까닭 |
|---|---|---|---|
| 가중치, $m$, $v$ | 없음 | 시드 다섯에서 한 번으로 끝 | |
| 가중치 | 튄 값이 든 $m$, 커진 $v$ | 모두 두 번 되돌림 | **돌아간 자리에서 $m$이 다시 같은 쪽으로** 밉니다 |
| 가중치, $v$ | 튄 값이 든 $m$ | 모두 스무 번 넘게 되돌림 | 튄 값이 든 $m$을 예전의 작은 $v$로 나눕니다 |
| 가중치, $m$ | 커진 $v$ | 모두 한 번으로 끝 | 그러나 마지막 40스텝의 걸음이 평소의 4분의 1에서 절반쯤입니다 |

아무 대처도 하지 않은 학습이 0.27에서 끝난 데에도 커진 $v$가 섞여 있습니다. 밀려난 다음에 돌아오는 걸음까지 짧았습니다. 그러니 되돌릴 때는 **옵티마이저까지 통째로** 되돌립니다.

여기까지가 절반입니다. 쉬었다가 연습으로 이어 가도 좋습니다.

### 연습. `guarded_step`

약 20분 · ★★☆

건너뛰기를 만듭니다. 건너뛴 배치는 어디에도 흔적을 남기지 않아야 합니다. 그레이디언트를 0으로 바꾸고 `step()`을 부르면 건너뛴 것이 아닙니다. AdamW라면 $m$에 남은 것과 감쇠가 가중치를 움직입니다.
"""


# %% tags=["exercise:guarded_step"]
def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    """그레이디언트의 노름이 보통이면 업데이트하고 True를, 유난히 크면 이 배치를 건너뛰고 False를 돌려줍니다.

    opt: 옵티마이저입니다. 역전파까지 끝나 있습니다. `.grad`가 None인 매개변수가 있을 수 있습니다.
    sched: 업데이트마다 한 번 부르는 스케줄러입니다.
    history: 지금까지 업데이트한 배치의 노름입니다. 업데이트하면 이번 노름을 float로 끝에 더하고, 건너뛰면 그대로 둡니다.

    노름은 옵티마이저가 가진 모든 그레이디언트를 이어 붙인 벡터의 노름입니다.
    history가 window개보다 적으면 유한한 노름은 모두 보통입니다. window개 이상이면 마지막 window개의 중앙값(`statistics.median`)의 factor배를 넘는 것이 유난히 큽니다.
    NaN이거나 무한대이면 언제나 건너뜁니다.
    업데이트할 때는 `opt.step()` 다음에 `sched.step()`을 부릅니다. 건너뛸 때는 둘 다 부르지 않아, 매개변수와 옵티마이저와 스케줄러의
    상태가 비트까지 그대로입니다. 어느 쪽이든 끝에는 그레이디언트를 지웁니다.
    """
    # BEGIN SOLUTION
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    norm = math.sqrt(sum(grad.double().square().sum().item() for grad in grads))
    is_usual = math.isfinite(norm) and (len(history) < window or norm <= factor * median(history[-window:]))
    if is_usual:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return is_usual
    # END SOLUTION


# %% tags=["check"]
check(guarded_step)

# %% [markdown]
r"""
## 3. 한 번이 아니라면

약 7분 · ★★☆

80번째 스텝부터 모든 사진의 밝고 어두운 곳이 뒤바뀝니다. 스캐너의 설정을 누가 바꾼 것과 같습니다. 그레이디언트의 노름이 갑자기 커지고, 이번에는 한 번으로 끝나지 않습니다.

**예측.** `guarded_step`처럼 건너뛰는 학습은 남은 80스텝 동안 어떻게 될까요?

- a: 처음 몇 배치를 건너뛰고, 중앙값이 따라 올라가면 다시 업데이트합니다.
- b: 큰 배치의 절반쯤을 건너뛰며 천천히 배웁니다.
- c: 한 번도 업데이트하지 않습니다.
"""

# %% tags=["predict"]
predict("06-19")

# %%
changed = {
    name: spike_runs(remedy, factor=1.0, inverted=True)
    for name, remedy in [("없음", ""), ("클리핑", "clip"), ("건너뛰기", "skip")]
}

# %% tags=["folded"]
# 표와 확인: 뒤바뀐 사진의 검증 손실과 건너뛴 배치의 수, 시드 6개
show_table(
    ["대처", "뒤바뀐 첫 배치 뒤의 손실", "마지막 손실", "80개 가운데 건너뛴 배치"],
    [
        [
            name,
            spelled(run.val_losses[0] for run in runs),
            spelled(run.end for run in runs),
            " · ".join(str(run.skipped) for run in runs),
        ]
        for name, runs in changed.items()
    ],
)
for name in ("없음", "클리핑"):
    assert all(run.val_losses[0] > 9 and math.log(10) < run.end < 2.6 for run in changed[name])
assert all(run.skipped == 80 and run.end == run.val_losses[0] for run in changed["건너뛰기"])
reveal("06-19")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

건너뛴 배치의 노름은 history에 들어가지 않습니다. 그래서 기준이 그대로이고, 다음 배치도 건너뛰고, 학습은 오류 없이 멈춥니다. 클리핑은 업데이트를 계속합니다. 그러나 80스텝 뒤의 손실은 2.3에서 2.5로, 아무것도 배우지 못한 모델의 손실 $\ln 10 = 2.30$보다 낮지 않습니다. 멈추지 않았을 뿐, 새 사진을 배운 것은 아닙니다.

건너뛴 노름까지 history에 넣으면 멈추지는 않지만, 이번에는 튀는 배치가 이어질 때 기준이 따라 올라갑니다. 어느 쪽이든 **건너뛴 비율을 기록하고**, 몇 번 이어서 건너뛰면 학습을 멈추고 알립니다.

</details>

아무 대처도 하지 않은 학습도 새 사진을 배우지 못했습니다. 사진이 어려워서일까요? 똑같은 80배치를 새로 만든 모델에 처음부터 줍니다. 이어서 학습한 모델은 [노트북 1](1_instruments.ipynb)에서처럼 계층의 출력을 봅니다. 이 모델의 은닉 계층 끝에 있는 tanh는 출력이 -1과 1 사이이고, 양끝에서 평평합니다.
"""

# %%
fresh = spike_runs(factor=1.0, inverted=True, start=ROGUE)
print("새 모델이 80배치를 배운 다음의 손실:", spelled(run.end for run in fresh))

# %% tags=["folded"]
# 표와 확인: 이어서 학습한 모델(대처 없음)이 뒤바뀐 사진에 내는 값, 시드 6개
continued = changed["없음"]
rows = []
for step, when in [(-1, "뒤바뀐 사진을 배우기 전"), (9, "10스텝 뒤"), (79, "80스텝 뒤")]:
    read = [run.readings[step] for run in continued]
    rows.append(
        [
            when,
            between(one.output_std for one in read),
            between((one.saturated for one in read), ".0%"),
            between(one.logit_std for one in read),
        ]
    )
show_table(["언제", "tanh 출력의 표준편차", "±0.99를 넘은 출력", "사진에 따른 로짓의 표준편차"], rows)
assert all(run.end < 0.3 for run in fresh)
assert all(run.readings[-1].saturated < 0.12 for run in continued)
assert all(run.readings[9].saturated > 0.85 for run in continued)
assert all(run.readings[79].saturated > 0.99 and run.readings[79].logit_std < 0.01 for run in continued)
assert all(run.readings[-1].logit_std > 2 for run in continued)

# %% [markdown]
r"""
새 모델은 같은 사진을 0.3 아래까지 배웁니다. 이어서 학습한 모델은 10스텝 만에 tanh의 출력이 열에 여덟 넘게 -1이나 1에 붙었습니다. 거기서는 미분이 0에 가까워 앞 계층으로 그레이디언트가 거의 가지 않고, 80스텝 뒤에는 **어느 사진에나 같은 로짓**을 냅니다. 손실만 보면 학습이 안 된다는 것뿐이지만, 계기는 어느 계층이 굳었는지 말해 줍니다. 표의 첫 값은 노트북 1의 `Dashboard`가 학습하면서 읽는 `output_std`를 검증 사진에서 잰 것이고, 1에 가까우면 tanh의 출력이 거의 -1이나 1입니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 튄 손실을 보면 그 스텝만이 아니라 그 앞 몇 스텝에서 몇십 스텝까지 그레이디언트의 노름을 거슬러 봅니다. 얼마나 앞인지는 학습률과 $\beta$에 따라 다릅니다.
- 클리핑, 건너뛰기, 되돌리기 가운데 고르고, 되돌릴 때는 옵티마이저까지 되돌립니다.
- 건너뛰기가 학습을 조용히 멈추지 않았는지 비율로 확인합니다.

여기서 쉬어 가도 됩니다. [다음: 학습이 안 되는 스크립트 셋](7_own_script.ipynb)에서는 채점기가 없는 스크립트에서 무엇부터 볼지 익힙니다.
"""
