# %% [markdown]
r"""
# 학습이 안 되는 스크립트 셋

연습 함수에는 채점기가 있지만, 내 스크립트에는 없습니다. 처음 보는 스크립트 셋을 고치면서 무엇부터 볼지 익힙니다. 셋 모두 공개된 저장소에서 되풀이해 보고된 버그를 우리 코드로 다시 쓴 것입니다.

첫 스크립트를 읽고, 아래의 출력과 맞추어 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리. scripts 폴더에 스크립트 셋을 복사합니다. 이미 있으면 그대로 둡니다
import re

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.why_it_does_not_learn.scripts import (
    bring,
    changed,
    numbered,
    original,
    printed_by,
    result_in,
    result_of,
    xray,
)
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠릅니다. 바쁜 컴퓨터에서는 훨씬 빠릅니다
prices, signal, digits = (bring(name) for name in ["1_prices", "2_signal", "3_digits"])

# %%
print(numbered(prices))

# %%
print(printed_by(original("1_prices")))

# %% [markdown]
r"""
## 1. 손실이 더 내려가지 않습니다

약 13분 · ★★☆

손실(loss)이 5.8쯤에서 내려가지 않습니다. 학습률(learning rate)을 바꾸고 계층을 더하기 전에, 이 손실이 다른 어느 수와 같은지 출력에서 찾아보세요.

**예측.** 이 모델은 무엇을 출력하고 있을까요?

- a: 어느 집이든 0에 가까운 값입니다.
- b: 어느 집이든 값의 평균에 가까운 값입니다.
- c: 집마다 다른 값입니다. 다만 잡음이 큽니다.
"""

# %% tags=["predict"]
predict("06-20")

# %%
model_outputs = changed(
    original("1_prices"),
    'print(f"값의 분산',
    "with torch.no_grad():\n"
    "    every = model(features)\n"
    'print(f"출력의 평균 {every.mean():.3f}, 표준편차 {every.std():.3f}")\n'
    'print(f"정답의 평균 {prices.mean():.3f}, 표준편차 {prices.std():.3f}")\n'
    'print(f"값의 분산',
)
printed = [printed_by(model_outputs, seed) for seed in range(6)]
for seed, text in enumerate(printed):
    print(f"시드 {seed}:", *text.splitlines()[-4:-2], sep="  ")

# %% tags=["folded"]
# 확인: 시드 6개에서 출력은 정답보다 열 배 넘게 좁게 모여 있습니다
for text in printed:
    (our_mean, our_std), (mean, std) = (
        [float(number) for number in re.findall(r"-?\d+\.\d+", line)] for line in text.splitlines()[-4:-2]
    )
    assert our_std < std / 10
    assert abs(our_mean - mean) < 0.1
reveal("06-20")

# %% [markdown]
r"""
모든 집의 값을 평균으로 예측하면 제곱 오차는 꼭 분산이 됩니다. 평균이 아닌 값 하나로 예측하면 제곱 오차는 평균과의 차이를 제곱한 만큼 더 큽니다. **아무것도 배우지 못한 모델의 손실**을 알아 두면, 손실만 보고도 이만큼 알 수 있습니다. 분류라면 $\ln(\text{클래스의 수})$가 그런 값입니다.

왜 평균만 배울까요? 스크립트를 엑스레이로 봅니다. 터미널에서는 `grader xray scripts/1_prices.py`입니다. 스크립트를 그대로 실행하면서 업데이트를 지켜봅니다.
"""

# %%
print(xray(prices))

# %% [markdown]
r"""
`predicted`는 (64, 1)이고 `prices[rows]`는 (64,)입니다. 빼면 (64, 64)가 되어, 예측 하나를 정답 64개 모두와 비교합니다. 그 평균을 가장 작게 하는 예측은 정답의 평균입니다. `F.mse_loss`라면 경고가 나오지만, 손으로 쓴 손실에는 경고가 없습니다.

**고쳐 보세요.** `scripts/1_prices.py`를 열어(JupyterLab이라면 왼쪽의 파일 목록에서) 한 줄을 고치고 저장한 다음, 아래 셀을 다시 실행합니다. 결과가 0.2 아래로 내려가면 된 것입니다. 이 노트북의 스크립트는 채점하지 않습니다.
"""

# %%
print(printed_by(prices.read_text(encoding="utf-8")))

# %% [markdown]
r"""
<details><summary>한 가지 답</summary>

19번째 줄을 `predicted = model(features[rows]).squeeze(1)`로 고칩니다. 정답 쪽을 `prices[rows].unsqueeze(1)`로 고쳐도 같습니다. 어느 쪽이든 `assert predicted.shape == prices[rows].shape` 한 줄을 남겨 두면 다시는 겪지 않습니다.

</details>
"""

# %% tags=["folded"]
# 확인: 시드 6개에서 고치기 전과 고친 다음의 손실
mended_prices = changed(original("1_prices"), "model(features[rows])", "model(features[rows]).squeeze(1)")
price_results = [(result_in(text), result_of(mended_prices, seed)) for seed, text in enumerate(printed)]
show_table(["시드", "고치기 전", "고친 다음"], [[seed, *row] for seed, row in enumerate(price_results)])
assert all(before > 4 and after < 0.2 for before, after in price_results)

# %% [markdown]
r"""
### 연습. `baseline_loss`

약 12분 · ★★☆

학습을 시작하기 전에 정답만 보고 구할 수 있는 값입니다. 학습 손실이 이 값에서 더 내려가지 않으면, 모델이 입력을 쓰지 못하고 있다고 의심합니다. 분류라면 모델은 클래스마다의 확률을 한 벌 정해 두고 언제나 그것을 냅니다. 손실을 가장 작게 하는 확률은 클래스가 나오는 비율이고, 그때의 손실은 [노트북 1](1_instruments.ipynb)의 엔트로피를 밑 $e$로 잰 것입니다. 그래서 클래스마다 나오는 횟수가 다르면 $\ln(\text{클래스의 수})$보다 작습니다.
"""


# %% tags=["exercise:baseline_loss"]
def baseline_loss(targets: torch.Tensor) -> float:
    """입력을 보지 않는 모델이 낼 수 있는 가장 작은 평균 손실을 정답에서 계산해 float로 돌려줍니다.

    targets: 차원이 하나인 텐서이고, 하나 이상 들어 있습니다.

    targets가 실수이면 제곱 오차입니다. 모델은 어느 입력에나 같은 값을 예측합니다.
    정수이면 클래스의 번호이고, 손실은 `F.cross_entropy`입니다. 모델은 어느 입력에나 같은 확률을 예측합니다.
    한 번도 나오지 않은 번호가 있을 수 있습니다. -100인 정답은 세지 않습니다. 모두 -100인 경우는 없습니다.
    """
    # BEGIN SOLUTION
    if targets.is_floating_point():
        return targets.double().var(correction=0).item()
    counts = torch.bincount(targets[targets != -100])
    # 나오지 않은 번호를 남겨 두면 0 * log(0)이 NaN이 됩니다
    shares = counts[counts > 0].double() / counts.sum()
    return -(shares * shares.log()).sum().item()
    # END SOLUTION


# %% tags=["check"]
check(baseline_loss)

# %% [markdown]
r"""
손실 하나로 하는 진단은 여기까지입니다. 여기서 쉬어 가도 됩니다.

## 2. 두 번째 업데이트에서 멈춥니다

약 12분 · ★★☆

긴 신호를 10칸씩 나누어 읽습니다. `nn.GRU`는 한 칸씩 읽으며 앞에서 본 것을 `state`에 담는 계층입니다. 그 `state`를 다음 구간으로 넘깁니다.
"""

# %%
print(numbered(signal))
print()
print(printed_by(original("2_signal")))

# %% [markdown]
r"""
오류 메시지는 `retain_graph=True`를 권합니다. 검색하면 다른 처방도 나옵니다. 셋을 모두 해 보겠습니다.

**예측.** 시드(seed) 6개에서 마지막 손실이 가장 작은 것은 어느 것일까요? 신호에 섞인 잡음의 표준편차가 0.3이라, 손실은 $0.3^2 = 0.09$보다 작아지기 어렵습니다.

- a: `loss.backward(retain_graph=True)`. 그래프를 남겨 두었으니 구간을 넘어서도 배웁니다.
- b: 구간마다 `state`를 0으로 되돌립니다. 앞 구간과의 연결이 끊깁니다.
- c: 구간마다 `state = state.detach()`. 값은 넘기고 그래프만 끊습니다.
"""

# %% tags=["predict"]
predict("06-21")

# %%
loop = "for start in range(0, 600, 10):\n"
ways = {
    "retain_graph=True": changed(original("2_signal"), "loss.backward()", "loss.backward(retain_graph=True)"),
    "0으로": changed(original("2_signal"), loop, f"{loop}        state = torch.zeros(1, 32, 32)\n"),
    "detach()": changed(original("2_signal"), loop, f"{loop}        state = state.detach()\n"),
}
signal_results = {name: [result_of(text, seed) for seed in range(6)] for name, text in ways.items()}
for name, results in signal_results.items():
    print(name, *(results if isinstance(results[0], float) else results[:1]))

# %% tags=["folded"]
# 확인: retain_graph는 다른 오류로 멈추고, detach는 시드 6개 모두에서 0으로 되돌린 것보다 낫습니다
assert all("inplace operation" in result for result in signal_results["retain_graph=True"])
pairs = list(zip(signal_results["0으로"], signal_results["detach()"], strict=True))
assert all(after < 0.85 * before for before, after in pairs)
assert all(0.09 < after < 0.13 for _, after in pairs)
reveal("06-21")

# %% [markdown]
r"""
`retain_graph=True`는 두 번째 구간의 역전파(backward pass)가 첫 구간까지 거슬러 가게 합니다. 그런데 그사이에 `step()`이 가중치(weight)를 제자리에서 바꾸었습니다. 남겨 둔 그래프는 옛 가중치로 계산한 것이라, 이번에는 그 오류로 멈춥니다. 오류 메시지의 처방이 늘 맞는 처방은 아닙니다.

0으로 되돌리면 멈추지 않고 손실도 내려갑니다. 그래서 더 위험합니다. 구간마다 기억을 잃은 채로 첫 칸부터 다시 짐작합니다. 구간이 서로 이어지지 않는 데이터라면 0에서 시작하는 것이 맞습니다. `detach()`는 기억을 값으로만 넘깁니다. 구간을 넘는 그레이디언트(gradient)는 없지만, 앞에서 본 것은 씁니다.

**고쳐 보세요.** `scripts/2_signal.py`에 한 줄을 더하고 다시 실행합니다. 결과가 0.12 아래면 된 것입니다. 엑스레이가 짚는 줄은 멈춘 줄입니다. 고칠 줄은 어디일까요?
"""

# %%
print(printed_by(signal.read_text(encoding="utf-8")))
print(xray(signal))

# %% [markdown]
r"""
<details><summary>한 가지 답</summary>

`for start in …` 바로 아래에 `state = state.detach()`를 더합니다. 엑스레이가 짚은 `loss.backward()`는 멈춘 곳이고, 고칠 곳은 그래프가 다음 구간으로 넘어가는 곳입니다.

</details>
"""

# %% [markdown]
r"""
## 3. 손실은 내려갑니다

약 13분 · ★★★

마지막 스크립트는 멈추지도 않고 손실도 내려갑니다. 그런데 정확도가 0.8에 못 미칩니다. 같은 크기의 모델이라면 0.95를 넘어야 합니다.
"""

# %%
print(numbered(digits))
print()
print(printed_by(original("3_digits")))

# %% [markdown]
r"""
손실이 꾸준히 내려가니 학습률이나 에폭(epoch)을 더 주고 싶어집니다. 그 전에 하나만 봅니다.

**예측.** 옵티마이저(optimizer)가 가진 매개변수(parameter) 여섯 개 가운데, `backward()` 다음에도 `.grad`가 `None`인 것은 몇 개일까요?

- a: 0개입니다. 손실이 내려가니 모두 배우고 있습니다.
- b: 2개입니다. 마지막 계층의 것입니다.
- c: 4개입니다. 앞의 두 계층의 것입니다.
"""

# %% tags=["predict"]
predict("06-22")

# %%
with_count = changed(
    original("3_digits"),
    "        optimizer.step()\n",
    "        optimizer.step()\n        missing = [p.shape for g in optimizer.param_groups for p in g['params'] if p.grad is None]\n",
)
with_count = changed(with_count, 'print(f"결과', 'print("None인 것:", *map(tuple, missing))\nprint(f"결과')
print(printed_by(with_count))

# %% tags=["folded"]
# 확인: 앞의 두 계층입니다
assert "None인 것: (32, 64) (32,) (32, 32) (32,)" in printed_by(with_count)
reveal("06-22")

# %% [markdown]
r"""
앞의 두 계층은 처음의 난수 그대로이고, 마지막 계층만 그 난수를 가지고 배웁니다. 그래서 손실이 내려갑니다. 손실만 보아서는 모릅니다. 옵티마이저의 `step()`은 `.grad`가 `None`인 매개변수를 오류 없이 지나갑니다.
"""

# %%
print(xray(digits))

# %% [markdown]
r"""
엑스레이의 말대로 `detach()`만 빼면 이번에는 `numpy()`가 오류를 냅니다. `numpy()`를 부르면 PyTorch는 `detach()`를 먼저 하라는 오류를 냅니다. 시키는 대로 하면 오류는 사라지고 그래프가 끊깁니다. `.item()`과 `.tolist()`는 말없이 끊고, `torch.tensor(…)`는 경고만 하고 끊습니다.

**고쳐 보세요.** `scripts/3_digits.py`의 `normalized`를 torch의 함수로 씁니다. 결과가 0.95를 넘으면 된 것입니다.
"""

# %%
print(printed_by(digits.read_text(encoding="utf-8")))

# %% [markdown]
r"""
<details><summary>한 가지 답</summary>

`normalized`의 몸통은 `return F.normalize(hidden, dim=1)` 한 줄이면 됩니다. `hidden / hidden.norm(dim=1, keepdim=True).clamp(min=1e-6)`도 같습니다.

</details>
"""

# %% tags=["folded"]
# 확인: 시드 6개에서 고치기 전과 고친 다음의 정확도
body = original("3_digits").partition('맞춥니다."""\n')[2].partition("\n\n\n")[0]
mended_digits = changed(original("3_digits"), body, "    return F.normalize(hidden, dim=1)")
digit_results = [(result_of(original("3_digits"), seed), result_of(mended_digits, seed)) for seed in range(6)]
show_table(["시드", "고치기 전", "고친 다음"], [[seed, *row] for seed, row in enumerate(digit_results)])
assert all(before < 0.8 and after > 0.95 for before, after in digit_results)

# %% [markdown]
r"""
## 무엇부터 볼까요

| 증상 | 먼저 볼 것 | 이 노트북에서는 |
|---|---|---|
| 손실이 더 내려가지 않습니다 | 아무것도 배우지 못한 모델의 손실과 같은지, 예측과 정답의 모양 | (64, 1)과 (64,) |
| 두 번째 `backward()`에서 멈춥니다 | 앞 반복에서 넘어온 텐서 | `state` |
| 손실은 내려가는데 너무 모자랍니다 | `.grad`가 `None`인 매개변수 | `detach()` |

셋 다 학습률의 문제가 아닙니다. 둘째는 학습률이 얼마든 같은 곳에서 멈춥니다. 나머지 둘은 학습률을 열 배로 올려 봅니다. 고쳤다고 하려면 결과가 0.2 아래, 0.95 위여야 했습니다.
"""

# %%
faster = {
    "1_prices": changed(original("1_prices"), "lr=3e-3", "lr=3e-2"),
    "3_digits": changed(original("3_digits"), "lr=1e-2", "lr=1e-1"),
}
by_rate = {name: [result_of(text, seed) for seed in range(6)] for name, text in faster.items()}
for name, results in by_rate.items():
    print(name, *results)

# %% tags=["folded"]
# 확인: 시드 6개
assert min(by_rate["1_prices"]) > 5
assert max(by_rate["3_digits"]) < 0.9

# %% [markdown]
r"""
하이퍼파라미터를 만지기 전에 표의 세 줄부터 봅니다.

## 이제 할 수 있는 것

- 아무것도 배우지 못한 모델의 손실을 계산해, 손실 하나로 첫 진단을 합니다.
- 오류 메시지가 권하는 처방이 맞는지 재어서 정합니다.
- `grader xray`로 내 스크립트에서 의심할 줄을 찾습니다.

여기까지가 레슨의 본편입니다. 며칠 뒤에 내 스크립트 하나를 골라 `grader xray`를 실행해 보세요. [다음: 내 Trainer](8_own_trainer.ipynb)에서는 레슨 01과 02의 루프를 클래스 하나로 모읍니다.
"""
