# %% [markdown]
r"""
# 나누어 더해도 같을까요

배치 64가 메모리에 들어가지 않으면 16짜리 마이크로 배치(micro-batch) 네 개로 나눕니다. 순전파와 역전파를 네 번 하고, 업데이트는 한 번 합니다.

`backward()`가 더하기 때문에 가능합니다. 더하기만 하면 될까요, 더하기 전에 할 일이 하나 더 있을까요? 답을 하나 정해 두고 읽으세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
from statistics import median

import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.accumulation import (
    PER_MICRO_BATCH,
    PER_WINDOW,
    adamw_difference,
    compare,
    draws_in_turn,
    mlp,
    relative_error,
    rounding_errors,
    window_gradient,
)
from grader.experiments.five_line_step.data import cut, device, flat_gradients, loss_fn, make_batches, on_cpu
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 왜 같을까요

약 10분 · ★★☆

업데이트 한 번에 쓰는 마이크로 배치들을 여기서는 한 구간(window)이라고 부르겠습니다. 네 개에 든 샘플을 합친 64가 유효 배치 크기(effective batch size)입니다.

작은 수로 먼저 봅니다. 샘플 네 개의 손실이 1, 3, 2, 6이면 넷의 평균은 3입니다. 둘씩 나누면 마이크로 배치의 평균은 2와 4입니다. 더하면 6이라 두 배가 되지만, 반씩 더하면 $2/2 + 4/2 = 3$이라 넷의 평균과 같습니다. 그레이디언트도 손실처럼 더해지므로 마찬가지입니다. 크기가 $B$인 마이크로 배치 $N$개의 구간에서, 샘플 $i$의 손실을 $\ell_i$라고 하면 큰 배치의 평균 손실은 이렇습니다.

$$
L = \frac{1}{NB}\sum_{i=1}^{NB} \ell_i
  = \sum_{k=1}^{N} \frac{1}{N}\underbrace{\Big(\frac{1}{B}\sum_{i \in \text{배치 } k}\ell_i\Big)}_{L_k}
\qquad\Longrightarrow\qquad
\nabla L = \sum_{k=1}^{N} \nabla\Big(\frac{L_k}{N}\Big)
$$

오른쪽 식이 그대로 코드가 됩니다. $L_k / N$에서 `backward()`를 $N$번 부르면 `p.grad`에는 $\nabla L$이 쌓입니다. $N$으로 나누지 않으면 $N$배 큰 그레이디언트가 됩니다.

이 식은 다음 네 조건에서만 성립합니다.

1. 손실은 샘플마다의 손실을 모두 더해 **구간 전체의 샘플 수로** 나눈 값입니다.
2. 한 샘플을 계산할 때 배치 안의 다른 샘플을 보는 계층이 없습니다. 배치 정규화(batch normalization)가 그런 계층입니다. 배치의 평균과 분산으로 값을 고르게 맞춥니다.
3. 드롭아웃(dropout)처럼 값의 일부를 무작위로 0으로 만드는 계층이 있으면, 0이 되는 자리가 같습니다.
4. 반올림이 없습니다.

네 번째는 종이 위에서만 언제나 맞습니다. 컴퓨터의 수는 유효 숫자가 정해져 있습니다. float64는 열여섯 자리, float32는 일곱 자리쯤이고, 16비트인 bfloat16은 그보다 짧습니다. PyTorch의 autocast는 순전파 가운데 행렬 곱 같은 연산을 그런 낮은 정밀도로 계산합니다. 두 그레이디언트가 얼마나 다른지는 상대 오차로 잽니다. 차이의 노름을 기준(여기서는 큰 배치)의 노름으로 나눈 값입니다.

**예측 1.** float32에서 16짜리 네 개를 누적한 그레이디언트와 64짜리 한 개의 그레이디언트는 상대 오차로 얼마나 다를까요? bfloat16 autocast에서는 어떨까요?

- a: 둘 다 $10^{-7}$쯤입니다. autocast에서도 `p.grad`는 float32이기 때문입니다.
- b: float32는 $10^{-7}$쯤, bfloat16은 $10^{-5}$쯤입니다.
- c: float32는 $10^{-7}$쯤, bfloat16은 $10^{-3}$쯤입니다.
"""

# %% tags=["predict"]
predict("01-13")

# %%
model = mlp(nn.Tanh())().to(device)
batch = make_batches(seed=0, batch_size=64)[0]
loss_fn(model(batch[0]), batch[1]).backward()
at_once = flat_gradients(model)

model.zero_grad()
for xb, yb in cut(batch, 16):
    (loss_fn(model(xb), yb) / 4).backward()
print(f"시드 하나, float32: {relative_error(flat_gradients(model), at_once):.1e}")

# %%
# 시드 20개의 중앙값으로
precision = {
    "float64": compare(mlp(nn.Tanh())),
    "float32": compare(mlp(nn.Tanh()), dtype=torch.float32),
    "bfloat16 autocast": compare(mlp(nn.Tanh()), dtype=torch.float32, autocast=True),
    "1/4을 빠뜨림 (float64)": compare(mlp(nn.Tanh()), weights=[1.0] * 4),
}
show_table(
    ["4 × 16 누적과 64 한 번", "그레이디언트의 상대 오차"],
    [[name, f"{error:.1e}"] for name, error in precision.items()],
)
reveal("01-13")

# %% tags=["folded"]
# 확인: 정밀도마다의 상대 오차
assert precision["float64"] < 1e-14
assert 1e-9 < precision["float32"] < 2e-6
assert 2e-4 < precision["bfloat16 autocast"] < 2e-2
assert abs(precision["1/4을 빠뜨림 (float64)"] - 3) < 1e-9  # 네 배이므로 상대 오차가 3입니다

# %% [markdown]
r"""
1/4을 빠뜨린 그레이디언트는 네 배입니다. 큰 배치와의 차이가 큰 배치의 세 배이므로 상대 오차가 3입니다. float32의 차이는 더하는 순서가 달라서 생깁니다. bfloat16의 차이도 그럴까요? 두 가지를 해 봅니다. 먼저 마이크로 배치의 순서만 바꿉니다. 다음으로 매개변수의 그레이디언트를 bfloat16으로 반올림하지 않고 더합니다.
"""

# %%
found = rounding_errors()
show_table(
    ["비교한 것 (시드 20개의 중앙값)", "그레이디언트의 상대 오차"],
    [[name, f"{median(values):.1e}"] for name, values in found.items()],
)

# %% tags=["folded"]
# 확인: 순서만 바꾼 차이, 반올림을 없앤 차이, float32에서 잰 차이
if on_cpu:
    together, order_only, no_rounding, small_off, big_off = found.values()
    assert all(1e-3 < value < 4e-3 for value in together)
    assert max(order_only) < 1e-6
    assert max(no_rounding) < 1e-12
    assert all(0.7 < a / b < 1.4 for a, b in zip(small_off, big_off, strict=True))

# %% [markdown]
r"""
마이크로 배치의 순서를 바꾸어도 bfloat16의 결과는 그대로입니다. 차이는 **마이크로 배치마다 그레이디언트를 반올림하는 데서** 옵니다. autocast에서는 매개변수의 그레이디언트를 bfloat16으로 반올림한 다음 float32인 `p.grad`에 더합니다. 큰 배치는 한 번, 누적은 네 번 반올림합니다. bfloat16의 유효 숫자는 두세 자리뿐이라 이 반올림이 $10^{-3}$쯤의 차이를 냅니다. 이 반올림만 없애면 둘은 다시 같아집니다. 그렇다고 누적이 더 부정확한 것은 아닙니다. float32로 구한 그레이디언트와 견주면, 누적도 큰 배치도 상대 오차가 비슷합니다.

### 몸풀기. `add_gradient`

약 10분 · ★☆☆

누적 루프를 쓰기 전에, 그 안에서 되풀이할 한 번을 먼저 씁니다. 이 문제는 점수에 들어가지 않습니다.

- 마이크로 배치 하나의 평균 손실에서 그레이디언트를 구하고, 인자 `weight`(모델의 가중치가 아니라 곱할 수)를 곱해 매개변수마다 `.grad`에 더합니다.
- 이미 있던 그레이디언트는 그대로 둡니다. 지우지도 업데이트하지도 않고, 모드도 바꾸지 않습니다.
- 고정한(`requires_grad=False`) 매개변수와 손실이 닿지 않는 매개변수도 있을 수 있습니다. 그런 매개변수의 `.grad`는 건드리지 않습니다. `None`이었으면 `None`입니다.
- 순전파는 한 번만 하고, `weight`를 곱하기 **전의** 손실을 돌려줍니다.
"""


# %% tags=["exercise:add_gradient"]
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    """마이크로 배치의 평균 손실에서 구한 그레이디언트에 weight를 곱해 .grad에 더하고, 곱하기 전의 손실을 float로 돌려줍니다.

    이미 있던 .grad는 지우지 않고 그 위에 더합니다. 업데이트하지 않고, 모드도 바꾸지 않습니다.
    고정했거나 손실이 닿지 않는 매개변수의 .grad는 건드리지 않습니다. 순전파는 한 번만 합니다.
    """
    # BEGIN SOLUTION
    logits = model(xb)
    loss = loss_fn(logits, yb)
    # 손실에 곱한 수는 그레이디언트에도 그대로 곱해집니다
    (weight * loss).backward()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(add_gradient)

# %% [markdown]
r"""
## 2. 조건을 하나씩 깨 봅니다

약 10분 · ★★★

모두 float64로 잽니다. $10^{-15}$쯤의 차이는 반올림이고, 그보다 크면 정말로 다른 것입니다.

**예측 2.** 드롭아웃이 있는 모델입니다. 큰 배치를 시작할 때와 누적 구간을 시작할 때, 시드(seed)를 같은 값으로 한 번씩 맞춥니다. 이 컴퓨터에서 두 그레이디언트는 같을까요?

- a: 드롭아웃 계층이 하나이면 같고, 둘이면 다릅니다.
- b: 하나이든 둘이든 다릅니다. 마스크(0이 될 자리)의 크기가 16과 64로 다르기 때문입니다.
- c: 하나이든 둘이든 같습니다. 시드를 맞추었기 때문입니다.
"""

# %% tags=["predict"]
predict("01-14")

# %%
tanh, uneven = mlp(nn.Tanh()), (28, 20, 12, 4)
two_dropouts = mlp(nn.Tanh(), nn.Dropout(0.3), nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.3))
cases = {
    "ReLU": compare(mlp(nn.ReLU())),
    "LayerNorm": compare(mlp(nn.LayerNorm(64), nn.Tanh())),
    "배치 정규화, 학습 모드": compare(mlp(nn.BatchNorm1d(64), nn.Tanh())),
    "드롭아웃 1개, 같은 시드": compare(mlp(nn.Tanh(), nn.Dropout(0.3))),
    "드롭아웃 1개, 다른 시드": compare(mlp(nn.Tanh(), nn.Dropout(0.3)), other_mask=1),
    "드롭아웃 2개, 같은 시드": compare(two_dropouts),
    "크기 28·20·12·4, 1/4씩": compare(tanh, uneven),
    "크기 28·20·12·4, 샘플 수로 가중": compare(tanh, uneven, [n / 64 for n in uneven]),
}

# %%
cases["남은 구간 2개를 1/4씩"] = compare(tanh, (16, 16), [1 / 4, 1 / 4])
cases["남은 구간 2개를 1/2씩"] = compare(tanh, (16, 16), [1 / 2, 1 / 2])
cases["클리핑을 구간마다 한 번"] = compare(tanh, clip=PER_WINDOW)
cases["클리핑을 마이크로 배치마다"] = compare(tanh, clip=PER_MICRO_BATCH)
show_table(
    ["조건 (float64)", "상대 오차", "같음"],
    [[name, f"{error:.1e}", "예" if error < 1e-12 else "아니요"] for name, error in cases.items()],
)
print("이 컴퓨터의 드롭아웃이 난수를 순서대로 뽑는지:", "예" if draws_in_turn() else "아니요")
one_same, two_same = (cases[f"드롭아웃 {number}개, 같은 시드"] < 1e-12 for number in (1, 2))
reveal("01-14", measured="c" if two_same else "a" if one_same else "b")

# %% tags=["folded"]
# 확인: 조건마다의 상대 오차
for name in [
    "ReLU",
    "LayerNorm",
    "크기 28·20·12·4, 샘플 수로 가중",
    "남은 구간 2개를 1/2씩",
    "클리핑을 구간마다 한 번",
]:
    assert cases[name] < 1e-14
assert cases["클리핑을 마이크로 배치마다"] > 0.2
assert 0.03 < cases["배치 정규화, 학습 모드"] < 0.6
assert cases["드롭아웃 1개, 다른 시드"] > 0.2
assert cases["드롭아웃 2개, 같은 시드"] > 0.2
assert cases["크기 28·20·12·4, 1/4씩"] > 0.2
assert abs(cases["남은 구간 2개를 1/4씩"] - 0.5) < 1e-9  # 절반이므로 상대 오차가 0.5입니다
if draws_in_turn():
    assert cases["드롭아웃 1개, 같은 시드"] < 1e-14
else:
    assert cases["드롭아웃 1개, 같은 시드"] > 0.2

# 배치 정규화는 순전파마다 이동 통계량을 바꿉니다: 업데이트 한 번에 네 번입니다
batch_norm = nn.BatchNorm1d(64).to(device)
model = nn.Sequential(nn.Linear(64, 64), batch_norm, nn.Linear(64, 10)).to(device)
window_gradient(model, cut(batch, 16), [1 / 4] * 4)
assert batch_norm.num_batches_tracked.item() == 4

# %% [markdown]
r"""
하나씩 까닭을 보겠습니다.

- **배치 정규화:** 64개로 구한 평균과 16개로 구한 평균은 다릅니다. 조건 2가 깨집니다. 평가할 때 쓰려고 적어 두는 이동 통계량(running statistics)도 업데이트 한 번에 네 번 바뀝니다. 누적으로는 고칠 수 없고, LayerNorm처럼 샘플 하나만 보는 정규화를 쓰면 됩니다.
- **드롭아웃:** 큰 배치는 첫 번째 드롭아웃 계층에서 샘플 64개의 난수를 한꺼번에 뽑습니다. 나누면 16개를 뽑은 다음 두 번째 계층의 난수를 뽑습니다. 뽑는 순서가 달라 마스크가 어긋납니다. 마스크는 어차피 무작위이므로, 달라졌다고 해서 학습이 잘못된 것은 아닙니다.
- **크기가 다른 마이크로 배치:** 평균들의 평균은 전체 평균이 아닙니다. 샘플 수로 가중하면 다시 같아집니다. 언어 모델에서는 샘플 수 자리에 토큰 수가 옵니다. 2024년 가을까지 여러 라이브러리가 이 버그를 안고 있었습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)).
- **남은 구간:** 남은 두 개를 4로 나누면 마지막 업데이트가 절반이 됩니다. 아예 건너뛰는 코드도 흔합니다. 그러면 남은 그레이디언트는 버려지거나, 지워지지 않은 채 다음 에폭의 첫 구간에 섞입니다.
- **클리핑:** 마이크로 배치마다 클리핑하면 지금까지 쌓인 것까지 함께 줄어듭니다. 구간이 끝난 뒤 한 번만 클리핑하면 큰 배치와 같습니다.

<details>
<summary>드롭아웃 계층이 하나일 때: 컴퓨터마다 다릅니다</summary>

원소마다 난수를 순서대로 하나씩 뽑는 컴퓨터에서는 16개짜리 마스크 네 개를 이으면 64개짜리 마스크 하나와 같습니다. 이 강의를 만들 때 쓴 AMD CPU가 그렇습니다. GPU에서는 스레드마다 난수열이 따로 있고, 드롭아웃을 호출할 때마다 모든 난수열이 앞으로 나아갑니다. 그래서 16개짜리 네 개를 이어도 64개짜리 하나와 같지 않습니다(H100에서 확인했습니다). Intel CPU에서는 호출마다 새 시드로 난수열을 시작합니다([PyTorch 소스](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cpu/DistributionKernels.cpp)).

</details>

## 3. AdamW와 bfloat16으로 시험해도 될까요

약 5분 · ★★★

Adam은 매개변수마다 보폭을 따로 조절하는 옵티마이저이고, AdamW는 그 변형입니다. 누적 루프가 맞는지 시험할 때, 옵티마이저는 AdamW로 두고 학습할 때처럼 autocast를 켜도 될까요?

**예측 3.** AdamW로 한 스텝 업데이트하고, 같은 정밀도에서 큰 배치로 업데이트한 가중치와 비교합니다. 매개변수마다 차이를 구하고 그 최댓값을 보면, 어느 쪽이 더 클까요?

- a: 바른 누적, bfloat16 autocast
- b: 1/4을 빠뜨린 누적, float32
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("01-15")

# %%
right_bf16 = adamw_difference([1 / 4] * 4, autocast=True)
wrong_fp32 = adamw_difference([1.0] * 4, autocast=False)
show_table(
    ["AdamW, 학습률 0.001, 한 스텝 (시드 10개의 중앙값)", "큰 배치와의 최대 차이"],
    [
        ["바른 누적, bfloat16 autocast", f"{right_bf16:.1e}"],
        ["1/4을 빠뜨린 누적, float32", f"{wrong_fp32:.1e}"],
    ],
)

# %% tags=["folded"]
# 답과 확인: 두 배 넘게 차이가 나면 더 큰 쪽이 답입니다
reveal("01-15", measured="a" if right_bf16 > 2 * wrong_fp32 else "b" if wrong_fp32 > 2 * right_bf16 else "c")
if on_cpu:
    assert right_bf16 > 5e-4
    assert wrong_fp32 < right_bf16 / 4

# %% [markdown]
r"""
그레이디언트의 차이가 작다고 해서 업데이트의 차이도 작은 것은 아닙니다. AdamW의 첫 업데이트는 $\eta\, g/(|g| + \epsilon)$에 가깝습니다. 그레이디언트의 크기를 나누어 없애고 거의 부호만 남깁니다. 0에 가까운 그레이디언트의 부호가 반올림 때문에 바뀌면, 업데이트는 학습률의 두 배 가까이 달라집니다. 1/4을 빠뜨린 진짜 버그는 크기만 바꾸므로 거의 드러나지 않습니다. 그래서 **SGD와 float64로 시험하고, 확인이 끝난 루프를 원하는 설정으로 돌리세요.** 이 강의의 채점기도 틀린 누적을 SGD와 float64로 가려냅니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 누적이 큰 배치와 같아지는 네 조건을 말하고, 어긋난 조건을 수치로 알아봅니다.
- 마이크로 배치 하나의 몫을 `.grad`에 더합니다.
- 누적 루프를 무엇으로 시험해야 하는지 압니다.

어려운 고비를 넘었습니다. 루프는 다음에 새 기분으로 쓰세요.

[다음: 누적 루프를 씁니다](4_accumulation_loop.ipynb)
"""
