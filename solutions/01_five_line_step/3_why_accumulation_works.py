# %% [markdown]
r"""
# 나누어 더해도 같을까요

배치 64개가 메모리에 한꺼번에 들어가지 않을 때가 있습니다. 그러면 16개씩 넷으로 나누어 차례로 계산합니다. 이렇게 작게 나눈 배치를 마이크로 배치(micro-batch)라고 합니다. 순전파와 역전파는 네 번 하고, 업데이트는 한 번만 합니다. 이 방법이 그레이디언트 누적(gradient accumulation)입니다.

`backward()`가 더하기 때문에 가능합니다. 더하기만 하면 될까요, 더하기 전에 할 일이 하나 더 있을까요? 답을 하나 정해 두고 읽으세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.accumulation import (
    PER_MICRO_BATCH,
    PER_WINDOW,
    compare,
    mlp,
    relative_error,
)
from grader.experiments.five_line_step.data import cut, flat_gradients, loss_fn, make_batches, make_model
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 평균을 나누어 구하기

약 8분 · ★☆☆

손실 함수 `loss_fn`은 받은 샘플들의 **평균** 손실을 줍니다. 64개를 주면 64개의 평균을, 16개를 주면 16개의 평균을 줍니다.

**예측 1.** 64개짜리 배치를 16개씩 넷으로 나눕니다. 마이크로 배치마다 평균 손실을 구해 `backward()`를 부르고, 그사이에 지우지 않습니다. 네 번 부른 뒤의 `p.grad`는 64개를 한꺼번에 넣었을 때와 비교해 어떨까요?

- a: 네 배입니다.
- b: 같습니다. 어느 쪽이든 샘플 64개를 한 번씩 보기 때문입니다.
- c: 4분의 1입니다. 마이크로 배치 하나가 전체의 4분의 1이기 때문입니다.
"""

# %% tags=["predict"]
predict("01-19")

# %%
model, batch = make_model(seed=0), make_batches(seed=0, batch_size=64)[0]

loss_fn(model(batch[0]), batch[1]).backward()
at_once = flat_gradients(model)  # 모든 매개변수의 그레이디언트를 이어 붙인 벡터

model.zero_grad()
for xb, yb in cut(batch, 16):  # 16개씩 넷으로
    loss_fn(model(xb), yb).backward()
only_added = flat_gradients(model)

print(f"그레이디언트의 노름: 한꺼번에 {at_once.norm():.4f}, 나누어 더하기만 {only_added.norm():.4f}")
reveal("01-19")

# %% [markdown]
r"""
작은 수로 보겠습니다. 샘플 네 개의 손실이 1, 3, 2, 6이면 넷의 평균은 3입니다. 둘씩 나누면 마이크로 배치의 평균은 2와 4입니다. 그대로 더하면 6, 곧 두 배입니다. 반씩 더하면 $2/2 + 4/2 = 3$이라 넷의 평균과 같습니다. 그레이디언트도 손실처럼 더해지므로 마찬가지입니다.

그래서 마이크로 배치가 넷이면 손실을 4로 나눈 다음 `backward()`를 부릅니다.
"""

# %%
model.zero_grad()
for xb, yb in cut(batch, 16):
    (loss_fn(model(xb), yb) / 4).backward()
divided = flat_gradients(model)

print(f"그레이디언트의 노름: 한꺼번에 {at_once.norm():.4f}, 4로 나누어 더함 {divided.norm():.4f}")
print(f"상대 오차: {relative_error(divided, at_once):.1e}")

# %% [markdown]
r"""
노름만 같고 방향은 다를 수도 있으니 상대 오차도 쟀습니다. 100이어야 할 값이 101이면 상대 오차는 0.01입니다. 차이 1을 기준 100으로 나눈 수입니다. 벡터에서는 차이의 노름을 기준(여기서는 64개를 한꺼번에 넣은 쪽)의 노름으로 나눕니다.

`1e-07`은 1000만분의 1입니다. 아주 작지만 0은 아닙니다. 반올림 때문일까요? 컴퓨터의 수는 자릿수가 정해져 있습니다. PyTorch가 보통 쓰는 float32는 일곱 자리쯤, float64는 열여섯 자리쯤입니다. 더하는 순서가 다르면 마지막 자리가 달라집니다. 정말 반올림이라면 float64에서는 차이가 훨씬 작아야 합니다.

우연일 수도 있으니 시드(seed) 20개로 재어 중앙값을 봅니다. 시드는 가중치의 처음 값과 배치의 순서를 정하는 수입니다.
"""

# %%
# compare는 나누어 더한 그레이디언트가 큰 배치의 것과 얼마나 다른지 시드 20개로 재어, 상대 오차의 중앙값을 돌려줍니다
# mlp(nn.Tanh())는 위의 것보다 조금 큰 모델입니다
errors = {
    "float32": compare(mlp(nn.Tanh()), dtype=torch.float32),
    "float64": compare(mlp(nn.Tanh()), dtype=torch.float64),
    "float64, 4로 나누지 않음": compare(mlp(nn.Tanh()), weights=[1.0] * 4),
}
show_table(
    ["16개씩 네 번과 64개 한 번", "그레이디언트의 상대 오차"],
    [[name, f"{error:.2g}"] for name, error in errors.items()],
)

# %% tags=["folded"]
# 확인: 더하기만 한 것, 4로 나눈 것, 정밀도마다의 상대 오차
assert torch.allclose(only_added, 4 * at_once, rtol=1e-3, atol=1e-5)
assert relative_error(divided, at_once) < 2e-6
assert 1e-9 < errors["float32"] < 2e-6
assert errors["float64"] < 1e-14
assert abs(errors["float64, 4로 나누지 않음"] - 3) < 1e-9  # 네 배이므로 상대 오차가 3입니다

# %% [markdown]
r"""
정말 반올림이었습니다. 4로 나누지 않은 것은 반올림이 아니라 버그입니다. 네 배가 되었으니 차이가 기준의 세 배이고, 그래서 상대 오차가 3입니다.

<details>
<summary>식으로 쓰면</summary>

크기가 $B$인 마이크로 배치 $N$개에서 샘플 $i$의 손실을 $\ell_i$라고 하면, 큰 배치의 평균 손실은 이렇습니다.

$$
L = \frac{1}{NB}\sum_{i=1}^{NB} \ell_i
  = \sum_{k=1}^{N} \frac{1}{N}\underbrace{\Big(\frac{1}{B}\sum_{i \in \text{배치 } k}\ell_i\Big)}_{L_k}
\qquad\Longrightarrow\qquad
\nabla L = \sum_{k=1}^{N} \nabla\Big(\frac{L_k}{N}\Big)
$$

오른쪽 식이 그대로 코드입니다. $L_k / N$에서 `backward()`를 $N$번 부르면 `p.grad`에는 $\nabla L$이 쌓입니다. 샘플의 수 $NB$가 유효 배치 크기(effective batch size)입니다. 여기서는 64입니다.

</details>

### 몸풀기. `add_gradient`

약 10분 · ★☆☆

누적 루프를 쓰기 전에, 그 안에서 되풀이할 한 번을 먼저 씁니다. 이 문제는 점수에 들어가지 않습니다.

- 마이크로 배치 하나의 평균 손실에서 그레이디언트를 구하고, 인자 `weight`(모델의 가중치가 아니라 곱할 수)를 곱해 매개변수마다 `.grad`에 더합니다.
- 이미 있던 그레이디언트는 그대로 둡니다. 지우지도 업데이트하지도 않고, 모드도 바꾸지 않습니다.
- 학습하지 않게 고정한(`requires_grad=False`) 매개변수와 손실이 닿지 않는 매개변수도 있을 수 있습니다. 그런 매개변수의 `.grad`는 건드리지 않습니다. `None`이었으면 `None`입니다.
- 순전파는 한 번만 하고, `weight`를 곱하기 **전의** 손실을 돌려줍니다.
"""


# %% tags=["exercise:add_gradient"]
def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    """마이크로 배치의 평균 손실에서 구한 그레이디언트에 weight를 곱해 .grad에 더하고, 곱하기 전의 손실을 float로 돌려줍니다.

    이미 있던 .grad는 지우지 않고 그 위에 더합니다. 업데이트하지 않고, 모드도 바꾸지 않습니다.
    고정했거나 손실이 닿지 않는 매개변수의 .grad는 건드리지 않습니다.
    순전파는 한 번만 하고, 배치 정규화의 이동 통계량은 그 한 번만큼 바뀝니다.
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
## 2. 같지 않게 되는 세 곳

약 8분 · ★★☆

언제나 4로 나누면 될까요? 방금은 마이크로 배치가 넷이고 크기가 모두 16이었습니다. 루프를 쓰다 보면 큰 배치와 달라지기 쉬운 곳을 셋 만납니다.

첫째는 끝에서 만납니다. 업데이트 한 번에 쓰는 마이크로 배치들을 한 구간(window)이라고 부르겠습니다. 마이크로 배치 열 개를 네 개씩 묶으면 마지막 구간에는 둘만 남습니다.

**예측 2.** 마지막 구간의 두 마이크로 배치도 손실을 4로 나누어 더합니다. 그레이디언트는 그 둘을 합친 배치와 비교해 어떨까요?

- a: 같습니다. 마이크로 배치마다 똑같이 나누었기 때문입니다.
- b: 절반입니다.
- c: 두 배입니다. 나머지 둘의 몫까지 맡기 때문입니다.
"""

# %% tags=["predict"]
predict("01-20")

# %%
# compare(모델, 마이크로 배치의 크기들, 손실마다 곱할 몫). 크기를 적지 않으면 16개씩 넷입니다
tanh, uneven = mlp(nn.Tanh()), (28, 20, 12, 4)
cases = {
    "남은 둘을 1/4씩": compare(tanh, (16, 16), [1 / 4, 1 / 4]),
    "남은 둘을 1/2씩": compare(tanh, (16, 16), [1 / 2, 1 / 2]),
    "크기 28·20·12·4를 1/4씩": compare(tanh, uneven, [1 / 4] * 4),
    "크기 28·20·12·4를 샘플 수대로": compare(tanh, uneven, [n / 64 for n in uneven]),
    "마이크로 배치마다 클리핑": compare(tanh, clip=PER_MICRO_BATCH),
    "구간 끝에서 한 번 클리핑": compare(tanh, clip=PER_WINDOW),
}

# %%
show_table(
    ["무엇을 어떻게 (float64)", "큰 배치와의 상대 오차", "같음"],
    [[name, f"{error:.2g}", "예" if error < 1e-12 else "아니요"] for name, error in cases.items()],
)
reveal("01-20")

# %% tags=["folded"]
# 확인: 경우마다의 상대 오차
assert abs(cases["남은 둘을 1/4씩"] - 0.5) < 1e-9  # 절반이므로 상대 오차가 0.5입니다
assert cases["크기 28·20·12·4를 1/4씩"] > 0.2
assert cases["마이크로 배치마다 클리핑"] > 0.2
for name in ["남은 둘을 1/2씩", "크기 28·20·12·4를 샘플 수대로", "구간 끝에서 한 번 클리핑"]:
    assert cases[name] < 1e-14

# %% [markdown]
r"""
표는 두 줄씩 짝입니다. 짝마다 윗줄은 틀리고 아랫줄은 맞습니다.

- **남은 구간:** 둘이 남았으면 2로 나눕니다. 아예 건너뛰는 코드도 흔합니다. 그러면 남은 그레이디언트는 버려지거나, 지워지지 않은 채 다음 에폭의 첫 구간에 섞입니다.
- **크기가 다른 마이크로 배치:** 28명인 반과 4명인 반의 평균을 다시 평균 내도 32명의 평균이 되지 않습니다. 샘플 수만큼 몫을 주면 다시 같아집니다.
- **클리핑:** 구간이 끝난 뒤 한 번만 합니다. 마이크로 배치마다 하면 지금까지 쌓인 것까지 함께 줄어듭니다.

<details>
<summary>누적이 큰 배치와 같아지는 정확한 조건</summary>

위의 세 곳은 루프에서 고칠 수 있습니다. 루프가 옳아도 큰 배치와 같으려면 다음 네 가지가 맞아야 합니다. 처음 쓰는 루프에서는 첫째만 챙기면 됩니다.

1. 손실은 샘플마다의 손실을 모두 더해 **구간 전체의 샘플 수로** 나눈 값입니다. 언어 모델에서는 샘플 수 자리에 토큰 수가 옵니다. 2024년 가을까지 여러 라이브러리가 이것을 틀렸습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)).
2. 한 샘플을 계산할 때 배치 안의 다른 샘플을 보는 계층이 없습니다. 배치 정규화가 그런 계층입니다.
3. 드롭아웃처럼 값의 일부를 무작위로 0으로 만드는 계층이 있으면, 0이 되는 자리가 같습니다.
4. 계산이 반올림되지 않습니다. 컴퓨터에서는 언제나 조금 반올림되므로, 끝자리까지 같지는 않습니다.

둘째와 셋째는 [세 스위치와 평가](6_evaluation_and_switches.ipynb)에서, 넷째는 [첫 줄과 마지막 줄을 손으로](7_two_lines_by_hand.ipynb)에서 깨 봅니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 누적할 때 무엇으로 왜 나누는지 말합니다.
- 마이크로 배치 하나의 몫을 `.grad`에 더합니다.
- 누적이 큰 배치와 달라지는 세 곳을 알아봅니다.

루프를 쓸 준비가 되었습니다. 쉬었다가 새 기분으로 쓰세요.

[다음: 누적 루프를 씁니다](4_accumulation_loop.ipynb)
"""
