# %% [markdown]
r"""
# 한 에폭, 그리고 지우지 않은 루프

한 스텝을 되풀이해 학습 데이터를 한 바퀴, 곧 한 에폭(epoch)을 돕니다. 그리고 그 루프에서 `zero_grad()`를 빼 봅니다.

입문 글은 대개 이렇게 설명합니다. 「그레이디언트가 쌓여 손실이 높게 머물고 학습이 무너진다.」 정말 그런지 먼저 예측하세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch
import torch.nn.functional as F

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import digits, loss_fn, make_batches, make_model, on_cpu
from grader.experiments.five_line_step.training import draw_curves, fifty_steps, rows_of, train_settings
from grader.plots import show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. `zero_grad()`를 빠뜨리면

약 7분 · ★★☆

옵티마이저 몇 가지로 해 봅니다. 모멘텀(momentum)이 있는 SGD는 굴러가는 공처럼 지난 걸음을 이어 갑니다. 모멘텀이 0.9이면 지난 걸음의 90%에 이번 그레이디언트를 더해 움직입니다. 표에 나오는 Adam은 모멘텀에 더해 매개변수마다 보폭을 따로 조절하는 옵티마이저입니다.

한 가지 설정을 시드(seed) 20개로 되풀이합니다. 시드는 가중치의 처음 값과 배치의 순서를 정하는 수입니다.

**예측 1.** 숫자 데이터, 두 계층(layer) 모델, 모멘텀 없는 SGD, 학습률 0.01, 한 에폭입니다. `opt.zero_grad()`를 뺀 루프의 학습 손실은 바른 루프보다 어떨까요?

- a: 높습니다.
- b: 낮습니다.
- c: 시드에 따라 다릅니다.
"""

# %% tags=["predict"]
predict("01-6")

# %% [markdown]
r"""
**예측 2.** 같은 모델, 같은 한 에폭에 학습률 0.1, 모멘텀 0.9를 씁니다. 처음 손실은 2.3쯤입니다. 한 에폭 뒤에 `opt.zero_grad()`를 뺀 루프의 손실은 어떻게 될까요?

- a: 바른 루프보다 조금 높습니다.
- b: NaN(수가 아니라는 표시)이 됩니다.
- c: 처음 손실의 열 배를 넘습니다.
"""

# %% tags=["predict"]
predict("01-7")

# %%
# 옵티마이저 설정 다섯 가지를 시드 20개로, 바르게 지운 루프와 지우지 않은 루프로 학습합니다(몇 초)
losses, curves = train_settings(seeds=range(20))
header = ["설정 (시드 20개)", "바른 루프 (중앙값)", "지우지 않은 루프 (중앙값)", "최소 ~ 최대"]
show_table([*header, "버그가 더 나쁜 시드"], rows_of(losses))
reveal("01-6")

# %% tags=["folded"]
# 확인: 다섯 설정에서 시드 20개가 모두 어느 쪽인지
# 작은 학습률: 시드 20개 모두 버그의 손실이 더 낮습니다
for name in ["SGD 0.01, 1에폭", "Adam 0.001, 5에폭"]:
    assert all(b < a for a, b in zip(losses[name, True], losses[name, False], strict=True))
# 큰 보폭: 시드 20개 모두 무너집니다. 처음 손실은 ln 10 = 2.3쯤입니다
assert max(losses["SGD 0.1 + 모멘텀 0.9, 1에폭", True]) < 0.6
assert min(losses["SGD 0.1 + 모멘텀 0.9, 1에폭", False]) > 23
assert max(losses["SGD 0.5, 5에폭", True]) < 0.4
assert min(losses["SGD 0.5, 5에폭", False]) > 10
assert max(losses["Adam 0.01, 5에폭", True]) < 0.2
assert min(losses["Adam 0.01, 5에폭", False]) > 2.3
# NaN은 한 번도 나오지 않습니다
assert all(value < float("inf") for values in losses.values() for value in values)

# %% tags=["folded"]
# 그림: 시드 20개의 손실 곡선
figure = draw_curves(
    curves,
    {
        "SGD 0.01, 1에폭": "SGD 0.01: 버그가 더 좋아 보입니다",
        "SGD 0.1 + 모멘텀 0.9, 1에폭": "SGD 0.1 + 모멘텀 0.9: 무너집니다",
    },
)
show(
    figure,
    "시드 20개의 손실 곡선 두 칸. 왼쪽 SGD 0.01에서는 zero_grad가 없는 점선이 바른 실선보다 빨리 내려갑니다. "
    "오른쪽 모멘텀 0.9에서는 점선이 모두 처음 손실보다 위로 올라가 10을 넘고, 실선은 모두 1 아래로 내려갑니다.",
)
reveal("01-7")

# %% [markdown]
r"""
표의 다섯 설정 가운데 둘에서는 버그가 시드 20개 모두 더 낮은 손실을 얻고, 셋에서는 시드 20개 모두 무너집니다.

## 2. 에폭의 손실을 어떻게 평균 낼까요

약 5분 · ★☆☆

한 에폭의 학습 손실은 보통 배치 손실을 모아 평균 냅니다.

**예측 3.** 샘플 129개를 64개씩 나누면 64, 64, 1이 됩니다. 배치 손실 세 개를 그냥 평균 내면 마지막 샘플 하나의 몫은 다른 샘플의 몇 배일까요?

- a: 같습니다.
- b: 3배
- c: 64배
"""

# %% tags=["predict"]
predict("01-17")

# %% tags=["folded"]
# 준비: 세 에폭 학습한 모델로, 가장 어려운 샘플이 마지막 배치에 혼자 오는 배치 셋
model = make_model(seed=7)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for xb, yb in make_batches(seed=7, epochs=3):
    opt.zero_grad()
    loss_fn(model(xb), yb).backward()
    opt.step()
x_val, y_val = digits().x_val, digits().y_val
with torch.no_grad():
    per_sample = F.cross_entropy(model(x_val), y_val, reduction="none")
    rows = per_sample.argsort()[-129:]
    batches = list(zip(x_val[rows].split(64), y_val[rows].split(64), strict=True))
    batch_losses = [loss_fn(model(xb), yb).item() for xb, yb in batches]

# %%
sizes = [len(xb) for xb, _ in batches]
mean_of_means = sum(batch_losses) / len(batch_losses)
sample_mean = sum(loss * size for loss, size in zip(batch_losses, sizes, strict=True)) / sum(sizes)
shares = [1 / len(sizes) / size for size in sizes]  # 그냥 평균에서 배치마다 샘플 하나가 차지하는 몫
show_table(
    ["배치 크기", "배치 손실", "샘플 하나의 몫"],
    [
        [size, f"{loss:.2f}", f"{share:.4f}"]
        for size, loss, share in zip(sizes, batch_losses, shares, strict=True)
    ],
)
print(f"그냥 평균 {mean_of_means:.3f}, 샘플로 가중한 평균 {sample_mean:.3f}")
reveal("01-17")

# %% tags=["folded"]
# 확인: 샘플 하나의 몫과, 두 평균 가운데 어느 것이 샘플 129개의 평균인지
assert sizes == [64, 64, 1]
assert round(shares[2] / shares[0]) == 64
assert mean_of_means > 1.5 * sample_mean
assert abs(sample_mean - per_sample[rows].mean().item()) < 1e-4

# %% [markdown]
r"""
마지막 배치가 작으면 여기서도 「평균들의 평균」이 됩니다. 차이가 잘 보이도록 가장 어려운 샘플이 마지막 배치에 혼자 오게 했습니다. 모을 때는 `loss.item()`을 씁니다. 까닭은 [버그 찾기](9_find_the_bug.ipynb)에서 봅니다.

### 연습 4. `fit`

약 20분 · ★★☆

에폭마다 학습 모드로 바꾸고, 배치마다 한 스텝을 하고, 샘플로 가중한 평균 손실을 모읍니다. `zero_grad=False`이면 이 편의 첫 실험이 됩니다. 마지막 배치의 손실이 아니라 에폭 전체의 평균이라는 점에 주의하세요.
"""


# %% tags=["exercise:fit"]
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    """loader를 epochs번 돌며 학습하고, 에폭마다 샘플 평균 학습 손실을 리스트로 돌려줍니다.

    에폭을 시작할 때마다 학습 모드로 바꿉니다. epochs는 1 이상이고, loader에는 배치가 하나 이상 있습니다.
    평균은 샘플 수로 가중합니다. 작은 마지막 배치는 담은 샘플 수만큼만 셉니다.
    지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    zero_grad: True이면 스텝마다 그레이디언트를 지웁니다. 처음에 지워도 끝에 지워도 됩니다.
        이때는 부르기 전의 .grad가 비어 있습니다.
        False이면 한 번도 지우지 않습니다(발산 실험용). 부르기 전에 있던 것 위에도 그대로 쌓습니다.
    """
    # BEGIN SOLUTION
    history = []
    for epoch in range(epochs):
        model.train()
        total_loss = 0.0
        num_samples = 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            logits = model(xb)
            loss = loss_fn(logits, yb)
            loss.backward()
            opt.step()
            # .item(): 계산 그래프는 버리고 숫자만 모읍니다
            total_loss += loss.item() * len(xb)
            num_samples += len(xb)
        history.append(total_loss / num_samples)
    return history
    # END SOLUTION


# %% tags=["check"]
check(fit)

# %% [markdown]
r"""
`fit`을 다 썼으면 첫 실험을 여러분의 함수로 다시 해 보세요. 학습률을 바꾸어 가며, 버그가 이득에서 손해로 넘어가는 곳을 찾아보면 좋습니다.
"""

# %%
try:
    for zero_grad in [True, False]:
        model = make_model(seed=0)
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        history = fit(model, opt, loss_fn, make_batches(seed=0), epochs=2, zero_grad=zero_grad)
        print(f"zero_grad={zero_grad}: 에폭 손실 {[round(value, 3) for value in history]}")
except (NameError, NotImplementedError):
    print("fit을 완성하면 여기에 두 루프의 손실이 나옵니다.")

# %% [markdown]
r"""
## 3. 왜 어떤 때는 좋아 보일까요

약 7분 · ★★☆

같은 버그인데 결과가 왜 이렇게 달랐을까요? 지우지 않으면 $k$번째 스텝의 `p.grad`에 무엇이 들어 있는지 먼저 종이에 적어 보세요.

**예측 4.** 그레이디언트를 지우지 않은 SGD와 50스텝 뒤의 가중치가 똑같은 것은 무엇일까요?

- a: 학습률을 50배로 키우고 바르게 지운 SGD
- b: 모멘텀 0.9를 쓰고 바르게 지운 SGD
- c: 모멘텀 1.0을 쓰고 바르게 지운 SGD
"""

# %% tags=["predict"]
predict("01-8")

# %%
never_cleared = fifty_steps(clear=False)
others = {
    "학습률 50배": fifty_steps(lr=2.5),
    "모멘텀 0.9": fifty_steps(momentum=0.9),
    "모멘텀 1.0": fifty_steps(momentum=1.0),
}
apart = {name: (weights - never_cleared).abs().max().item() for name, weights in others.items()}
show_table(
    ["바르게 지운 SGD", "지우지 않은 SGD와의 최대 차이"],
    [[name, f"{value:.1e}"] for name, value in apart.items()],
)
reveal("01-8")

# %% tags=["folded"]
# 확인: 셋 가운데 어느 것이 같은지
assert apart["학습률 50배"] > 0.1
assert apart["모멘텀 0.9"] > 0.1
assert apart["모멘텀 1.0"] == 0.0 if on_cpu else apart["모멘텀 1.0"] < 1e-3

# %% [markdown]
r"""
지우지 않으면 $k$번째 스텝의 `p.grad`가 이렇게 됩니다.

$$ v_k = g_1 + g_2 + \cdots + g_k = v_{k-1} + g_k $$

모멘텀이 있는 SGD는 그레이디언트를 $v_k = \mu\, v_{k-1} + g_k$로 쌓고 $p \leftarrow p - \eta\, v_k$로 옮깁니다. $\mu$가 모멘텀입니다. 위의 식은 여기에 $\mu = 1$을 넣은 것입니다. 모멘텀도 가중치 감쇠(weight decay)도 없는 SGD에서 지우기를 빼면 **모멘텀이 1.0인 SGD가 됩니다.**

가중치 감쇠는 업데이트마다 가중치를 조금씩 0 쪽으로 당기는 설정입니다. SGD는 그레이디언트 $g$ 대신 $g + \lambda p$를 읽습니다. 이것이 있으면 둘은 같지 않습니다. 모멘텀은 $\lambda p$까지 쌓는데, 지우지 않은 `p.grad`에는 $g$만 쌓이기 때문입니다.
"""

# %%
decayed = {}
for decay in [0.0, 0.0001, 0.01]:
    not_cleared = fifty_steps(clear=False, weight_decay=decay)
    momentum_one = fifty_steps(momentum=1.0, weight_decay=decay)
    decayed[decay] = (not_cleared - momentum_one).abs().max().item()
show_table(
    ["가중치 감쇠", "지우지 않은 SGD와 모멘텀 1.0의 최대 차이"],
    [[decay, f"{value:.1e}"] for decay, value in decayed.items()],
)

# %% tags=["folded"]
# 확인: 가중치 감쇠가 없을 때만 같습니다
assert decayed[0.0] == 0.0 if on_cpu else decayed[0.0] < 1e-3
assert decayed[0.0001] > 1e-4
assert decayed[0.01] > 0.01

# %% [markdown]
r"""
학습률이 작을 때 모멘텀은 보폭을 키워 줍니다. 그래서 손실이 빨리 내려갑니다. 다만 1.0은 지난 그레이디언트를 영영 잊지 않는 값입니다. 앞의 다섯 설정에서는 보폭이 작은 둘이 좋아지고 보폭이 큰 셋이 무너졌습니다. 경계가 어디인지는 옵티마이저마다 다르고, 여기서는 재지 않았습니다. 모멘텀이 있는 SGD와 Adam은 식이 다르지만, 쌓인 합 $v_k$를 이번 그레이디언트로 알고 읽는 것은 같습니다.

두 가지를 기억해 두세요.

- **손실이 내려간다는 것은 루프가 맞는다는 증거가 아닙니다.** 이 강의의 채점기가 손실이 내려갔는지가 아니라 가중치가 맞는지를 보는 까닭입니다.
- 새 루프를 믿기 전에는 두 스텝만 손으로 계산한 값과 비교해 보세요. 첫 스텝에서는 이 버그가 드러나지 않습니다. 지울 것이 아직 없기 때문입니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 지우지 않은 루프가 왜 때로는 더 좋아 보이는지 식으로 설명합니다.
- 한 에폭을 돌며 손실을 샘플마다 똑같이 세어 평균 냅니다.

학습하는 쪽은 다 썼습니다. 쉬었다가 평가로 넘어가세요.

[다음: 세 스위치와 평가](6_evaluation_and_switches.ipynb)
"""
