# %% [markdown]
r"""
# 첫 줄과 마지막 줄을 손으로

다섯 줄 가운데 `opt.zero_grad()`와 `opt.step()`을 직접 씁니다. 둘 다 몇 줄이면 됩니다.

그 전에 하나 물어보겠습니다. 그레이디언트는 모델에 있을까요, 옵티마이저에 있을까요? 답을 정하고 아래를 실행하세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import loss_fn, make_batches, make_model
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

그레이디언트는 옵티마이저가 아니라 매개변수에 있습니다. 매개변수마다 `.grad`가 하나씩 달려 있고, 옵티마이저는 매개변수를 가리키기만 합니다. `opt.zero_grad()`는 가리키는 매개변수의 `.grad`를 지웁니다. 모델과 옵티마이저 사이에 다른 연결은 없습니다. 그래서 옵티마이저를 만든 **다음** 계층을 새것으로 바꿔 끼우면, 오류는 나지 않지만 그 계층은 학습되지 않습니다. 모델을 GPU로 옮기는 `model.to(device)`도 옵티마이저보다 먼저 부릅니다. Adagrad처럼 만들 때 상태까지 만드는 옵티마이저의 상태는 따라 옮겨지지 않습니다.

`step()`이 읽는 것은 네 가지입니다. 매개변수의 지금 값, `.grad`, `param_groups`의 학습률 같은 설정, 그리고 `state`(모멘텀의 $v$처럼 옵티마이저가 적어 두는 값)입니다. 손실도, 모델의 구조도, 데이터도 읽지 않습니다.

PyTorch 2.0부터 `zero_grad()`는 `.grad`를 0으로 채우지 않고 `None`으로 바꿉니다. 예전처럼 0으로 채우려면 `zero_grad(set_to_none=False)`라고 씁니다. 어느 쪽이든 업데이트는 같을까요?

**예측 1.** 출력 계층(head)이 A와 B 둘인 모델을 20스텝 함께 학습한 다음, 50스텝은 A만 씁니다. 그레이디언트는 늘 0으로 채워 지웁니다. A만 쓰는 50스텝 동안 B의 가중치를 움직이는 옵티마이저는 무엇일까요?

- a: 없습니다. 그레이디언트가 0이니 움직일 수 없습니다.
- b: 모멘텀이나 가중치 감쇠가 있는 것들입니다.
- c: 모멘텀이 없는 SGD까지 모두입니다. `step()`을 불렀기 때문입니다.
"""

# %% tags=["predict"]
predict("01-11")

# %%
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
    ["옵티마이저", "`None`으로 지움", "0으로 지움"],
    [[name, *(f"{moved:.1e}" for moved in row)] for name, row in idle.items()],
)
reveal("01-11")

# %% tags=["folded"]
# 확인: 옵티마이저와 지우는 방법마다, 움직였는지
assert all(with_none == 0.0 for with_none, _ in idle.values())
assert idle["SGD 0.1"][1] == 0.0
assert all(with_zero > 1e-3 for name, (_, with_zero) in idle.items() if name != "SGD 0.1")

# %% [markdown]
r"""
`step()`은 `None`과 0을 다르게 다룹니다. `None`이면 그 매개변수를 건너뛰고, 0이면 「그레이디언트가 0인 업데이트」를 합니다. 그때도 모멘텀, 가중치 감쇠, Adam의 통계는 가중치를 움직입니다.

### 연습 6. `zero_gradients`와 `sgd_update`

약 15분 · ★★☆

`opt.zero_grad()`와 모멘텀 없는 SGD의 `opt.step()`을 직접 씁니다. 함정은 세 가지입니다.

- 매개변수는 `requires_grad=True`인 잎(leaf) 텐서입니다. 다른 텐서로 계산해 만든 것이 아니라는 뜻입니다. `no_grad()` 밖에서 제자리로 바꾸면 오류가 납니다.
- `param = param - lr * param.grad`는 새 텐서에 이름을 옮겨 붙일 뿐입니다. 모델 안의 텐서는 그대로입니다.
- 손실이 줄어드는 쪽으로 움직여야 합니다. `.grad`가 `None`인 매개변수는 건드리지 않습니다.
"""


# %% tags=["exercise:zero_gradients"]
def zero_gradients(params) -> None:
    """opt.zero_grad()가 하는 일을 손으로 합니다. 매개변수의 그레이디언트를 비웁니다.

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
## 여기까지

이제 이런 것을 할 수 있습니다.

- `.grad`가 어디에 있고 `step()`이 무엇을 읽는지 코드로 확인합니다.
- 옵티마이저의 두 줄을 옵티마이저 없이 씁니다.

짧은 편이었습니다. 여기서 멈추거나, 이어서 넷째 줄 `backward()`를 열어 봅니다.

더 읽을거리: [Optimizer.zero_grad](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html), `None`과 0의 차이

[다음: `backward()`가 따라가는 길](8_backward_graph.ipynb)
"""
