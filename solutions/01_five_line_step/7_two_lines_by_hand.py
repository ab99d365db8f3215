# %% [markdown]
r"""
# 첫 줄과 마지막 줄을 손으로

다섯 줄 가운데 `opt.zero_grad()`와 `opt.step()`을 직접 씁니다. 둘 다 몇 줄이면 됩니다.

그 전에 하나 물어보겠습니다. 그레이디언트는 모델에 있을까요, 옵티마이저에 있을까요? 답을 정하고 아래를 실행하세요. `opt.param_groups`는 옵티마이저가 맡은 매개변수와 학습률을 적은 목록이고, `opt.state`는 옵티마이저가 스텝마다 적어 두는 값입니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
from statistics import median

import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.accumulation import (
    adamw_difference,
    compare,
    mlp,
    rounding_errors,
)
from grader.experiments.five_line_step.data import loss_fn, make_batches, make_model, on_cpu
from grader.experiments.five_line_step.training import idle_head_moved, sgd
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %%
model = make_model(seed=9)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
weight, (xb, yb) = model[0].weight, make_batches(seed=9)[0]

print("같은 텐서:", opt.param_groups[0]["params"][0] is weight)
print("학습률:", opt.param_groups[0]["lr"])
print("backward 전의 .grad:", weight.grad)
loss_fn(model(xb), yb).backward()
print("backward 뒤의 .grad:", tuple(weight.grad.shape))
print("step 전의 상태:", dict(opt.state))
opt.step()
print("step 뒤의 상태:", list(opt.state[weight]))
opt.zero_grad()
print("zero_grad 뒤의 .grad:", weight.grad)

# %% tags=["folded"]
# 확인: 옵티마이저가 든 것은 복사본이 아니라 바로 그 텐서이고, 지운 .grad는 None입니다. 바꿔 끼운 계층은 모릅니다
assert opt.param_groups[0]["params"][0] is model[0].weight
assert list(opt.state[model[0].weight]) == ["momentum_buffer"]
assert model[0].weight.grad is None

model[2] = nn.Linear(32, 10).to(weight.device)
swapped_in = model[2].weight.detach().clone()
loss_fn(model(xb), yb).backward()
opt.step()
assert torch.equal(model[2].weight, swapped_in)
assert list(torch.optim.Adagrad(model.parameters()).state[weight]) == ["step", "sum"]

# %% [markdown]
r"""
## 1. `.grad`가 있는 곳

약 10분 · ★★☆

그레이디언트는 옵티마이저가 아니라 매개변수에 있습니다. 매개변수마다 `.grad`가 하나씩 달려 있고, 옵티마이저는 매개변수를 가리키기만 합니다. `opt.zero_grad()`는 가리키는 매개변수의 `.grad`를 지웁니다. 모델과 옵티마이저 사이에 다른 연결은 없습니다. 그래서 옵티마이저를 만든 **다음** 계층을 새것으로 바꿔 끼우면, 오류는 나지 않지만 그 계층은 학습되지 않습니다.

<details>
<summary>모델을 GPU로 옮기는 줄은 어디에 둘까요</summary>

`model.to(device)`도 옵티마이저보다 먼저 부릅니다. Adagrad처럼 만들 때 상태까지 만드는 옵티마이저의 상태는 모델을 따라 옮겨지지 않습니다.

</details>

`step()`이 읽는 것은 네 가지입니다. 매개변수의 지금 값, `.grad`, `param_groups`의 학습률 같은 설정, 그리고 `state`(모멘텀의 $v$처럼 옵티마이저가 적어 두는 값)입니다. 손실도, 모델의 구조도, 데이터도 읽지 않습니다.

`.grad`를 지우는 방법은 둘입니다. PyTorch 2.0부터 `zero_grad()`는 `.grad`를 0으로 채우지 않고 `None`으로 바꿉니다. 예전처럼 0으로 채우려면 `zero_grad(set_to_none=False)`라고 씁니다. 어느 쪽이든 업데이트는 같을까요?

**예측 1.** 출력 계층(head)이 A와 B 둘인 모델을 20스텝 함께 학습한 다음, 50스텝은 A만 씁니다. 그레이디언트는 늘 0으로 채워 지웁니다. 옵티마이저는 모멘텀이 없는 SGD, 모멘텀이 있는 SGD, 가중치 감쇠가 있는 SGD, AdamW(Adam에 가중치 감쇠를 더한 것)입니다. A만 쓰는 50스텝 동안 B의 가중치를 움직이는 것은 무엇일까요?

- a: 없습니다. 그레이디언트가 0이니 움직일 수 없습니다.
- b: 모멘텀이나 가중치 감쇠가 있는 것들입니다.
- c: 모멘텀이 없는 SGD까지 모두입니다. `step()`을 불렀기 때문입니다.
"""

# %% tags=["predict"]
predict("01-11")

# %%
# idle_head_moved는 A만 쓰는 50스텝 동안 B의 가중치가 움직인 거리를 잽니다
OPTIMIZERS = {
    "SGD 0.1": sgd(0.1),
    "SGD 0.1 + 모멘텀 0.9": sgd(0.1, momentum=0.9),
    "SGD 0.1 + 가중치 감쇠 0.01": sgd(0.1, weight_decay=0.01),
    "AdamW 0.01": lambda params: torch.optim.AdamW(params, lr=0.01),
}
idle = {}
for name, make in OPTIMIZERS.items():
    idle[name] = [idle_head_moved(make, set_to_none=set_to_none) for set_to_none in (True, False)]
show_table(
    ["B가 움직인 거리", "`None`으로 지움", "0으로 지움"],
    [[name, *(f"{moved:.2g}" for moved in row)] for name, row in idle.items()],
)
reveal("01-11")

# %% tags=["folded"]
# 확인: 옵티마이저와 지우는 방법마다, 움직였는지. 매개변수를 no_grad() 밖에서 바꿀 때의 오류
assert all(with_none == 0.0 for with_none, _ in idle.values())
assert idle["SGD 0.1"][1] == 0.0
assert all(with_zero > 1e-3 for name, (_, with_zero) in idle.items() if name != "SGD 0.1")
try:
    model[0].weight -= 0.1
    leaf_error = ""
except RuntimeError as error:
    leaf_error = str(error)
assert "leaf Variable" in leaf_error

# %% [markdown]
r"""
`step()`은 `None`과 0을 다르게 다룹니다. `None`이면 그 매개변수를 건너뛰고, 0이면 「그레이디언트가 0인 업데이트」를 합니다. 그때도 모멘텀, 가중치 감쇠, Adam의 통계는 가중치를 움직입니다.

### 연습 6. `zero_gradients`와 `sgd_update`

약 15분 · ★★☆

`opt.zero_grad()`와 모멘텀 없는 SGD의 `opt.step()`을 직접 씁니다. 함정은 세 가지입니다.

- `param = param - lr * param.grad`는 새 텐서에 이름을 옮겨 붙일 뿐입니다. 모델 안의 텐서는 그대로입니다. 새로 만들지 않고 그 텐서의 값을 바꾸어야 합니다. 이것을 제자리(in-place)에서 바꾼다고 합니다.
- 매개변수는 그레이디언트를 구하는 텐서라, `no_grad()` 밖에서 제자리로 바꾸면 오류가 납니다. 오류에는 「leaf Variable」이라고 나옵니다. 잎(leaf)은 다른 텐서로 계산해 만든 것이 아닌 텐서입니다.
- 손실이 줄어드는 쪽으로 움직여야 합니다. `.grad`가 `None`인 매개변수는 건드리지 않습니다.
"""


# %% tags=["exercise:zero_gradients"]
def zero_gradients(params) -> None:
    """opt.zero_grad()가 하는 일을 손으로 합니다. 매개변수의 그레이디언트를 비웁니다.

    비운 `.grad`는 None이어도, 모두 0인 텐서여도 됩니다. None이던 `.grad`는 None으로 둡니다.
    얼린(requires_grad가 False인) 매개변수의 그레이디언트도 비웁니다. 무한대나 NaN도 남지 않습니다.
    """
    # BEGIN SOLUTION
    for param in params:
        param.grad = None
    # END SOLUTION


# %% tags=["check"]
check(zero_gradients)


# %% tags=["exercise:sgd_update"]
def sgd_update(params, lr) -> None:
    """모멘텀 없는 SGD의 opt.step()을 손으로 합니다. .grad가 None인 매개변수는 건드리지 않습니다."""
    # BEGIN SOLUTION
    # 업데이트는 미분할 계산이 아닙니다
    with torch.no_grad():
        for param in params:
            if param.grad is None:
                continue
            # -=은 새 텐서를 만들지 않고 제자리에서 바꿉니다
            param -= lr * param.grad
    # END SOLUTION


# %% tags=["check"]
check(sgd_update)

# %% [markdown]
r"""
## 2. 누적 루프를 무엇으로 시험할까요

약 9분 · ★★★

손으로 쓴 코드는 맞는 것과 결과를 비교해 시험합니다. 누적 루프라면 큰 배치로 한 번 업데이트한 것과 비교합니다. 그런데 둘은 바르게 써도 마지막 자리가 달랐습니다([나누어 더해도 같을까요](3_why_accumulation_works.ipynb)). 얼마나 다르면 틀린 것일까요? 시험할 때 무엇을 쓰느냐에 달렸습니다. 처음이라면 이 절은 건너뛰어도 됩니다.

컴퓨터의 수는 자릿수가 정해져 있습니다. 1/3을 세 가지로 적어 봅니다.
"""

# %%
for dtype in [torch.float64, torch.float32, torch.bfloat16]:
    print(f"{dtype!s:<15} {torch.tensor(1 / 3, dtype=dtype).item()}")

# %% [markdown]
r"""
3이 이어지는 데까지가 믿을 수 있는 자리입니다. float64는 열여섯 자리, float32는 일곱 자리, bfloat16은 두세 자리입니다. bfloat16은 16비트라 메모리를 float32의 절반만 쓰고, 계산도 빠른 장치가 많습니다. 그래서 큰 모델은 행렬 곱 같은 계산만 bfloat16으로 하기도 합니다. `torch.autocast`가 그 일을 맡습니다. 자세한 것은 레슨 02에서 봅니다.

**예측 2.** 바르게 쓴 누적입니다. 16개씩 넷을 누적한 그레이디언트와 64개 한 번의 그레이디언트는 상대 오차로 얼마나 다를까요? float32에서, 그리고 bfloat16 autocast를 켜고 잽니다.

- a: 둘 다 $10^{-7}$쯤입니다. autocast에서도 `p.grad`는 float32이기 때문입니다.
- b: float32는 $10^{-7}$쯤, bfloat16은 $10^{-5}$쯤입니다.
- c: float32는 $10^{-7}$쯤, bfloat16은 $10^{-3}$쯤입니다.
"""

# %% tags=["predict"]
predict("01-13")

# %%
# compare는 16개씩 네 번과 64개 한 번의 그레이디언트를 비교합니다
precision = {
    "float32": compare(mlp(nn.Tanh()), dtype=torch.float32),
    "bfloat16 autocast": compare(mlp(nn.Tanh()), dtype=torch.float32, autocast=True),
}
show_table(
    ["바른 누적과 큰 배치 (시드 20개의 중앙값)", "그레이디언트의 상대 오차"],
    [[name, f"{error:.1e}"] for name, error in precision.items()],
)
reveal("01-13")

# %% tags=["folded"]
# 확인: 정밀도마다의 상대 오차, 적어 본 1/3의 자릿수
assert 1e-9 < precision["float32"] < 2e-6
assert 2e-4 < precision["bfloat16 autocast"] < 2e-2
assert abs(torch.tensor(1 / 3, dtype=torch.float32).item() - 1 / 3) < 1e-7
assert 1e-4 < torch.tensor(1 / 3, dtype=torch.bfloat16).item() - 1 / 3 < 1e-3

# %% [markdown]
r"""
float32의 차이는 더하는 순서가 달라서 생깁니다. bfloat16의 차이도 그럴까요? 다음 셀이 두 가지를 해 봅니다. 먼저 마이크로 배치의 순서만 바꿉니다. 다음으로 매개변수의 그레이디언트를 bfloat16으로 반올림하지 않고 더합니다.
"""

# %% tags=["folded"]
# 표와 확인: bfloat16의 차이는 어디에서 올까요
found = rounding_errors()
show_table(
    ["비교한 것 (시드 20개의 중앙값)", "그레이디언트의 상대 오차"],
    [[name, f"{median(values):.2g}"] for name, values in found.items()],
)
if on_cpu:
    together, order_only, no_rounding, small_off, big_off = found.values()
    assert all(1e-3 < value < 4e-3 for value in together)
    assert max(order_only) < 1e-6
    assert max(no_rounding) < 1e-12
    assert all(0.7 < a / b < 1.4 for a, b in zip(small_off, big_off, strict=True))

# %% [markdown]
r"""
순서를 바꾸어도 결과는 그대로입니다. 차이는 **마이크로 배치마다 그레이디언트를 반올림하는 데서** 옵니다.

<details>
<summary>어디에서 반올림할까요</summary>

autocast에서는 매개변수의 그레이디언트를 bfloat16으로 반올림한 다음 float32인 `p.grad`에 더합니다. 큰 배치는 한 번, 누적은 네 번 반올림합니다. 이 반올림만 없애면(표의 셋째 줄) 둘은 다시 같아집니다. 그렇다고 누적이 더 부정확한 것은 아닙니다. float32로 구한 그레이디언트와 비교하면(넷째 줄과 다섯째 줄), 누적도 큰 배치도 상대 오차가 비슷합니다.

</details>

이번에는 옵티마이저까지 넣습니다. 큰 모델은 대개 AdamW로, 낮은 정밀도로 학습합니다. 시험도 그렇게 해도 될까요? 바르게 쓴 누적은 bfloat16으로, 손실을 4로 나누지 않은 누적은 float32로 한 스텝 업데이트합니다. 저마다 같은 정밀도에서 큰 배치로 업데이트한 가중치와 비교합니다.

**예측 3.** 매개변수마다 차이를 구해 최댓값을 봅니다. 어느 쪽이 더 클까요?

- a: 바른 누적, bfloat16 autocast
- b: 1/4을 빠뜨린 누적, float32
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("01-15")

# %%
# adamw_difference는 손실에 이 몫을 곱해 누적하고 AdamW로 한 번 업데이트해, 큰 배치로 업데이트한 가중치와 비교합니다
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
AdamW의 첫 업데이트는 그레이디언트의 크기를 거의 보지 않습니다. 그레이디언트가 1이든 4이든 부호가 같으면 거의 같은 거리를 움직입니다. 그래서 네 배가 되는 진짜 버그는 드러나지 않습니다. 거꾸로 0에 가까운 그레이디언트는 반올림으로 부호가 바뀔 수 있고, 그러면 업데이트가 학습률의 두 배 가까이 달라집니다.

그래서 **SGD와 float64로 시험하고, 확인이 끝난 루프를 원하는 설정으로 돌리세요.** 이 강의의 채점기도 틀린 누적을 SGD와 float64로 가려냅니다.

<details>
<summary>식으로 쓰면</summary>

AdamW의 첫 업데이트는 $\eta\, g/(|g| + \epsilon)$에 가깝습니다. $\epsilon$은 0으로 나누지 않으려고 더하는 아주 작은 수입니다. 분자와 분모가 함께 커지니 크기는 사라지고 부호가 남습니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- `.grad`가 어디에 있고 `step()`이 무엇을 읽는지 코드로 확인합니다.
- 옵티마이저의 두 줄을 옵티마이저 없이 씁니다.
- 누적 루프를 무엇으로 시험해야 하는지 압니다.

쉬기 좋은 곳입니다. 다음에는 넷째 줄 `backward()`를 열어 봅니다.

더 읽을거리: [Optimizer.zero_grad](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html) (`None`과 0의 차이)

[다음: `backward()`가 따라가는 길](8_backward_graph.ipynb)
"""
