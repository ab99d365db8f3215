# %% [markdown]
r"""
# 세 스위치와 평가

평가도 데이터를 한 바퀴 도는 일입니다. 다만 매개변수를 바꾸지 않고, 세 스위치 가운데 둘을 씁니다.

그 스위치가 무엇을 바꾸고 무엇을 바꾸지 않는지 먼저 예측해 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 데이터
import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import device, digits, flat, loss_fn, make_model
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
x_train, y_train, x_val, y_val = digits()

# %% [markdown]
r"""
## 1. 학습 모드, `requires_grad`, `no_grad`

약 10분 · ★★☆

어떤 계층은 학습할 때와 평가할 때 다르게 동작합니다. 드롭아웃(dropout)은 학습할 때 값의 일부를 무작위로 0으로 만들고, 평가할 때는 아무것도 하지 않습니다. 배치 정규화(batch normalization)는 학습할 때 그 배치의 평균과 분산으로 값을 고르게 맞추면서 이동 통계량(running statistics)에 조금씩 적어 두고, 평가할 때는 적어 둔 값을 씁니다. 학습 모드(train mode)와 평가 모드(evaluation mode)는 `model.train()`과 `model.eval()`로 바꿉니다.

스위치는 둘 더 있습니다. 매개변수의 `requires_grad`와 `torch.no_grad()` 블록입니다. 함께 쓰는 일이 많아 셋을 혼동하기 쉽습니다. 하나씩 바꾸어 무엇이 달라지는지 봅니다.

**예측 1.** `model.eval()`만 부르고 순전파합니다. 무슨 일이 생길까요?

- a: 드롭아웃이 꺼집니다. 계산 그래프는 그대로 만들어지고, 역전파도 할 수 있습니다.
- b: 드롭아웃이 꺼지고, 계산 그래프도 만들어지지 않습니다. 평가에는 필요 없기 때문입니다.
- c: 드롭아웃이 꺼집니다. 계산 그래프는 만들어지지만, 평가 모드라서 `backward()`가 오류를 냅니다.
"""

# %% tags=["predict"]
predict("01-12")


# %% tags=["folded"]
# 준비: 스위치 셋을 놓고 두 번 순전파해, 실제로 달라진 것을 봅니다
def observe(*, train_mode, frozen=False, no_grad=False):
    """드롭아웃이 작동했는지, 이동 통계량이 바뀌었는지, 계산 그래프를 만들었는지입니다."""
    torch.manual_seed(8)
    model = nn.Sequential(
        nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10)
    ).to(device)
    model.train(train_mode)
    model.requires_grad_(not frozen)
    statistics = model[1].running_mean.clone()
    with torch.set_grad_enabled(not no_grad):
        first, second = model(x_train[:32]), model(x_train[:32])
    return [
        not torch.equal(first, second),
        not torch.equal(statistics, model[1].running_mean),
        first.grad_fn is not None,
    ]


# %%
seen = {
    "`train()`": observe(train_mode=True),
    "`eval()`": observe(train_mode=False),
    "`train()` + `no_grad()`": observe(train_mode=True, no_grad=True),
    "`eval()` + `no_grad()`": observe(train_mode=False, no_grad=True),
    "`train()` + `requires_grad_(False)`": observe(train_mode=True, frozen=True),
}
show_table(
    ["스위치", "드롭아웃이 작동", "이동 통계량이 바뀜", "계산 그래프를 만듦"],
    [[name, *("예" if value else "아니요" for value in row)] for name, row in seen.items()],
)
reveal("01-12")

# %% tags=["folded"]
# 확인: 스위치마다 달라진 것과, 평가 모드에서 역전파하고 업데이트한 결과
assert list(seen.values()) == [
    [True, True, True],
    [False, False, True],
    [True, True, False],
    [False, False, False],
    [True, True, False],
]

model = make_model(seed=8).eval()
before = flat(model.parameters())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn(model(x_train[:32]), y_train[:32]).backward()
opt.step()
assert not torch.equal(flat(model.parameters()), before)

# %% [markdown]
r"""
세 스위치는 서로 다른 것을 바꿉니다.

| 스위치 | 바꾸는 것 |
|---|---|
| `model.train()`, `model.eval()` | 모듈마다 있는 `training` 값. 드롭아웃과 배치 정규화가 읽습니다 |
| `p.requires_grad_(False)` | 이 매개변수의 그레이디언트를 구할지 |
| `torch.no_grad()` | 이 블록 안에서 계산 그래프를 만들지 |

「`model.train()`은 학습할 수 있게 만드는 함수」라는 설명이 있지만 그렇지 않습니다. 평가 모드에서도 역전파하고 업데이트할 수 있습니다. 예외가 하나 있습니다. GPU에서 cuDNN이 계산하는 LSTM이나 GRU는 평가 모드로 순전파하면 `backward()`가 「cudnn RNN backward can only be called in training mode」라는 오류를 냅니다([pytorch#15788](https://github.com/pytorch/pytorch/issues/15788)).

위 실험 결과 표의 셋째 줄과 마지막 줄을 보세요. `no_grad()`만 쓰고 평가하면 **평가 데이터가 배치 정규화의 이동 통계량을 바꿉니다.** `requires_grad_(False)`로 매개변수를 고정해도 통계량은 고정되지 않습니다.

### 연습 5. `evaluate`

약 20분 · ★★☆

평가에는 스위치 가운데 둘, 평가 모드와 `no_grad()`를 씁니다. 평가 모드에서, 그래프 없이, 샘플 평균 손실과 정확도를 구합니다. 그리고 **함수를 부르기 전의 모드로 되돌립니다.** 일부 모듈만 평가 모드인 모델도 있으니 모듈마다 되돌려야 합니다. 데이터를 읽다가 오류가 나도 되돌려야 합니다. `finally`가 그런 데 쓰입니다. 모든 모듈은 `model.modules()`로 꺼내고, 점수가 가장 큰 클래스의 번호는 `logits.argmax(dim=1)`로 구합니다.
"""


# %% tags=["exercise:evaluate"]
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    """평가 모드로 loader 전체를 보고 (샘플 평균 손실, 정확도)를 돌려줍니다. 정확도는 0과 1 사이입니다.

    계산 그래프를 만들지 않습니다. 배치 정규화의 이동 통계량을 바꾸지 않습니다. loader에는 배치가 하나 이상 있습니다.
    끝나면 모듈마다 원래 모드로 되돌립니다. loader가 오류를 내거나 Ctrl+C로 멈춰도 되돌립니다.
    """
    # BEGIN SOLUTION
    # 모듈마다 지금 모드를 적어 둡니다
    modes = {module: module.training for module in model.modules()}
    total_loss = 0.0
    num_correct = 0
    num_samples = 0
    model.eval()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss = loss_fn(logits, yb)
                total_loss += loss.item() * len(xb)
                num_correct += (logits.argmax(dim=1) == yb).sum().item()
                num_samples += len(xb)
    finally:
        # 무슨 일이 있어도 되돌립니다
        for module, mode in modes.items():
            module.training = mode
    return total_loss / num_samples, num_correct / num_samples
    # END SOLUTION


# %% tags=["check"]
check(evaluate)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 학습 모드와 평가 모드, `requires_grad`, `no_grad`가 각각 무엇을 바꾸는지 말합니다.
- 무슨 일이 있어도 모드를 되돌리는 평가 함수를 씁니다.

학습과 평가가 갖추어졌습니다. 쉬기 좋은 곳입니다.

[다음: 첫 줄과 마지막 줄을 손으로](7_two_lines_by_hand.ipynb)
"""
