# %% [markdown]
r"""
# 세 스위치와 평가

평가도 데이터를 한 바퀴 도는 일입니다. 다만 매개변수를 바꾸지 않고, 세 스위치 가운데 둘을 씁니다.

그 스위치가 무엇을 바꾸고 무엇을 바꾸지 않는지 먼저 예측해 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 이 편의 데이터와 실험
import torch
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.accumulation import compare, draws_in_turn, mlp, window_gradient
from grader.experiments.five_line_step.data import (
    cut,
    device,
    digits,
    flat,
    loss_fn,
    make_batches,
    make_model,
)
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
x_train, y_train, x_val, y_val = digits()

# %% [markdown]
r"""
## 1. 학습 모드, `requires_grad`, `no_grad`

약 10분 · ★★☆

학습할 때와 평가할 때 다르게 동작하는 계층이 둘 있습니다.

- 드롭아웃(dropout)은 학습할 때 값의 일부를 무작위로 0으로 만듭니다. `Dropout(0.5)`이면 절반쯤입니다. 평가할 때는 아무것도 하지 않습니다.
- 배치 정규화(batch normalization)는 학습할 때 그 배치의 평균과 분산으로 값을 고르게 맞춥니다. 그러면서 평균과 분산을 조금씩 적어 둡니다. 적어 둔 것이 이동 통계량(running statistics)이고, 평가할 때는 이것을 씁니다.

어느 쪽으로 동작할지는 모드가 정합니다. `model.train()`은 학습 모드(train mode)로, `model.eval()`은 평가 모드(evaluation mode)로 바꿉니다. 이것이 첫째 스위치입니다.

스위치는 둘 더 있습니다. 매개변수마다 있는 `requires_grad`와, `with torch.no_grad():`로 여는 블록입니다. 함께 쓰는 일이 많아 셋을 혼동하기 쉽습니다. 하나씩 바꾸어 무엇이 달라지는지 봅니다.

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

「`model.train()`은 학습할 수 있게 만드는 함수」라는 설명이 있지만 그렇지 않습니다. 평가 모드에서도 역전파하고 업데이트할 수 있습니다.

<details>
<summary>예외가 하나 있습니다</summary>

GPU에서 cuDNN이 계산하는 LSTM이나 GRU는 평가 모드로 순전파하면 `backward()`가 「cudnn RNN backward can only be called in training mode」라는 오류를 냅니다([pytorch#15788](https://github.com/pytorch/pytorch/issues/15788)).

</details>

위 실험 결과 표의 셋째 줄과 마지막 줄을 보세요. `no_grad()`만 쓰고 평가하면 **평가 데이터가 배치 정규화의 이동 통계량을 바꿉니다.** `requires_grad_(False)`로 매개변수를 고정해도 통계량은 고정되지 않습니다.

### 연습 5. `evaluate`

약 20분 · ★★☆

평가에는 스위치 가운데 둘, 평가 모드와 `no_grad()`를 씁니다. 평가 모드에서, 그래프 없이, 샘플 평균 손실과 정확도를 구합니다. 그리고 **함수를 부르기 전의 모드로 되돌립니다.**

- 일부 모듈만 평가 모드인 모델도 있으니 모듈마다 되돌립니다. 모든 모듈은 `model.modules()`로 꺼냅니다.
- 데이터를 읽다가 오류가 나도 되돌립니다. `finally`가 그런 데 쓰입니다.
- 점수가 가장 큰 클래스의 번호는 `logits.argmax(dim=1)`로 구합니다.
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
## 2. 두 계층이 누적과 만나면

약 6분 · ★★★

[나누어 더해도 같을까요](3_why_accumulation_works.ipynb)에서 미뤄 둔 이야기입니다. 처음이라면 건너뛰어도 됩니다. 배치 정규화와 드롭아웃이 학습 모드로 들어 있는 모델에서도, 16개씩 넷을 누적한 그레이디언트가 64개짜리 하나와 같을까요?

드롭아웃은 무작위라, 아무것도 하지 않으면 당연히 다릅니다. 그래서 시드(seed)를 맞춥니다. 시드는 난수가 나오는 차례를 정하는 수입니다. 같은 시드로 시작하면 같은 난수가 같은 차례로 나옵니다.

**예측 2.** 큰 배치를 시작할 때와 누적을 시작할 때, 시드를 같은 값으로 한 번씩 맞춥니다. 이 컴퓨터에서 두 그레이디언트는 같을까요?

- a: 드롭아웃 계층이 하나이면 같고, 둘이면 다릅니다.
- b: 하나이든 둘이든 다릅니다. 마스크(0이 될 자리)의 크기가 16과 64로 다르기 때문입니다.
- c: 하나이든 둘이든 같습니다. 시드를 맞추었기 때문입니다.
"""

# %% tags=["predict"]
predict("01-14")

# %%
# mlp(…)는 64 → 64 → 10 사이에 이 계층들을 끼운 모델입니다. 학습 모드에서, float64로 잽니다
two_dropouts = mlp(nn.Tanh(), nn.Dropout(0.3), nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.3))
apart = {
    "배치 정규화": compare(mlp(nn.BatchNorm1d(64), nn.Tanh())),
    "LayerNorm": compare(mlp(nn.LayerNorm(64), nn.Tanh())),
    "드롭아웃 1개, 다른 시드": compare(mlp(nn.Tanh(), nn.Dropout(0.3)), other_mask=1),
    "드롭아웃 1개, 같은 시드": compare(mlp(nn.Tanh(), nn.Dropout(0.3))),
    "드롭아웃 2개, 같은 시드": compare(two_dropouts),
}
show_table(
    ["모델에 든 계층", "큰 배치와의 상대 오차", "같음"],
    [[name, f"{error:.2g}", "예" if error < 1e-12 else "아니요"] for name, error in apart.items()],
)

# %% tags=["folded"]
# 답과 확인: 계층마다의 상대 오차. 답은 컴퓨터가 난수를 뽑는 방식에 달렸습니다
in_turn = draws_in_turn()
print("이 컴퓨터의 드롭아웃이 난수를 순서대로 뽑는지:", "예" if in_turn else "아니요")
one_same, two_same = (apart[f"드롭아웃 {number}개, 같은 시드"] < 1e-12 for number in (1, 2))
reveal("01-14", measured="c" if two_same else "a" if one_same else "b")

assert compare(mlp(nn.ReLU())) < 1e-14
assert apart["LayerNorm"] < 1e-14
assert 0.03 < apart["배치 정규화"] < 0.6
assert apart["드롭아웃 1개, 다른 시드"] > 0.2
assert apart["드롭아웃 2개, 같은 시드"] > 0.2
assert apart["드롭아웃 1개, 같은 시드"] < 1e-14 if in_turn else apart["드롭아웃 1개, 같은 시드"] > 0.2

# 배치 정규화는 순전파마다 이동 통계량을 바꿉니다: 업데이트 한 번에 네 번입니다
batch_norm = nn.BatchNorm1d(64).to(device)
model = nn.Sequential(nn.Linear(64, 64), batch_norm, nn.Linear(64, 10)).to(device)
window_gradient(model, cut(make_batches(seed=0, batch_size=64)[0], 16), [1 / 4] * 4)
assert batch_norm.num_batches_tracked.item() == 4

# %% [markdown]
r"""
- **배치 정규화:** 64개로 구한 평균과 16개로 구한 평균은 다릅니다. 이동 통계량도 업데이트 한 번에 네 번 바뀝니다. 누적으로는 고칠 수 없습니다. LayerNorm처럼 샘플 하나만 보는 정규화를 쓰면 됩니다.
- **드롭아웃:** 큰 배치는 첫째 드롭아웃 계층에서 샘플 64개의 난수를 한꺼번에 뽑습니다. 나누면 16개를 뽑은 다음 둘째 계층의 난수를 뽑습니다. 뽑는 순서가 달라 마스크가 어긋납니다. 마스크는 어차피 무작위이니, 달라졌다고 해서 학습이 잘못된 것은 아닙니다.

<details>
<summary>드롭아웃 계층이 하나일 때: 컴퓨터마다 다릅니다</summary>

원소마다 난수를 순서대로 하나씩 뽑는 컴퓨터에서는 16개짜리 마스크 네 개를 이으면 64개짜리 마스크 하나와 같습니다. 이 강의를 만들 때 쓴 AMD CPU가 그렇습니다. GPU에서는 스레드마다 난수열이 따로 있고, 드롭아웃을 호출할 때마다 모든 난수열이 앞으로 나아갑니다. 그래서 16개짜리 네 개를 이어도 64개짜리 하나와 같지 않습니다(H100에서 확인했습니다). Intel CPU에서는 호출마다 새 시드로 난수열을 시작합니다([PyTorch 소스](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cpu/DistributionKernels.cpp)).

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 학습 모드와 평가 모드, `requires_grad`, `no_grad`가 각각 무엇을 바꾸는지 말합니다.
- 무슨 일이 있어도 모드를 되돌리는 평가 함수를 씁니다.
- 배치 정규화와 드롭아웃이 있으면 누적이 왜 큰 배치와 달라지는지 압니다.

학습과 평가가 갖추어졌습니다. 쉬기 좋은 곳입니다.

[다음: 첫 줄과 마지막 줄을 손으로](7_two_lines_by_hand.ipynb)
"""
