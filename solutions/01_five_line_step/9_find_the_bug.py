# %% [markdown]
r"""
# 버그 찾기

블로그와 이슈에서 되풀이해 나오는 오류를 담은 루프 다섯 개를 읽습니다. 마지막에는 아무것도 보지 않고 다섯 줄을 씁니다.

**읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다. 코드는 모두 새로 썼습니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch
import torch.nn.functional as F
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import (
    device,
    digits,
    flat_gradients,
    loss_fn,
    make_batches,
    make_model,
)
from grader.experiments.five_line_step.memory import grade_whiteboard
from grader.experiments.five_line_step.recipes import recipe_fixture, show_recipes
from grader.plots import use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
x_train, y_train, x_val, y_val = digits()

# %% [markdown]
r"""
## 1. 루프 다섯 개

약 20분 · ★★☆

도구가 하나 있습니다. `step()`이 읽는 `p.grad`를 배치마다의 그레이디언트 $g_1, g_2, \dots$의 합으로 풀면, 업데이트 한 번에 **어떤 배치가 얼마씩** 들어갔는지, 곧 업데이트의 재료(레시피)를 알 수 있습니다. 채점기의 막대그래프도 이렇게 그립니다.

### 루프 1

주석으로 a, b, c를 붙인 줄 가운데 하나가 틀렸습니다. 어느 줄일까요?

- a: 지우는 줄 `opt.zero_grad()`
- b: 순전파하는 줄 `logits = model(xb)`
- c: 역전파하는 줄 `loss.backward()`
"""


# %% tags=["find-the-bug"]
def loop_1(model, opt, batches, epochs):
    for epoch in range(epochs):
        opt.zero_grad()  # a
        for xb, yb in batches:
            logits = model(xb)  # b
            loss = loss_fn(logits, yb)
            loss.backward()  # c
            opt.step()


# %% tags=["predict"]
predict("01-bug1")

# %%
# 작은 모델과 배치 넷. opt.recipes에는 업데이트마다 어느 배치의 그레이디언트가 얼마나 들어갔는지 남습니다
model, opt, batches = recipe_fixture(seed=12, n_batches=4)
loop_1(model, opt, batches, epochs=1)
for number, recipe in enumerate(opt.recipes, start=1):
    print(f"{number}번째 업데이트 = {recipe}")
reveal("01-bug1")

# %% tags=["folded"]
# 그림과 확인: 업데이트마다 들어간 배치
show_recipes(
    opt.recipes,
    [[1.0], [0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]],
    "루프 1의 업데이트에 들어간 배치",
    "업데이트 네 칸. k번째 칸에 g1부터 gk까지 높이 1인 막대가 k개 있습니다. 바른 루프의 테두리는 gk 하나뿐입니다.",
)
assert opt.recipes == [[1.0], [1.0] * 2, [1.0] * 3, [1.0] * 4]

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`k`번째 업데이트에 `g1`부터 `gk`까지 모두 들어갑니다. 그레이디언트를 에폭이 바뀔 때만 지우기 때문입니다. 배치가 하나뿐인 테스트에서는 드러나지 않고, 손실로도 잘 드러나지 않습니다. 고치려면 `opt.zero_grad()`를 안쪽 `for`의 첫 줄로 옮깁니다. 실제 사례: 한 한국어 강의의 실습 코드에서 수강생이 찾아내어 고쳐졌습니다([Standalone-DeepLearning#11](https://github.com/heartcored98/Standalone-DeepLearning/issues/11)).

</details>

### 루프 2

그레이디언트 누적을 소개하는 글에 자주 나오는 코드입니다. 마이크로 배치 여덟 개, `NUM_ACCUM = 4`입니다. 첫 업데이트에는 마이크로 배치가 몇 개 들어갈까요?

- a: 네 개
- b: 한 개
- c: 세 개
"""


# %% tags=["find-the-bug"]
def loop_2(model, opt, batches, epochs):
    NUM_ACCUM = 4
    opt.zero_grad()
    for epoch in range(epochs):
        for i, (xb, yb) in enumerate(batches):
            loss = loss_fn(model(xb), yb) / NUM_ACCUM
            loss.backward()
            if i % NUM_ACCUM == 0:
                opt.step()
                opt.zero_grad()


# %% tags=["predict"]
predict("01-bug2")

# %%
model, opt, batches = recipe_fixture(seed=13, n_batches=8)
loop_2(model, opt, batches, epochs=2)
for number, recipe in enumerate(opt.recipes, start=1):
    print(f"{number}번째 업데이트 = {recipe}")
left_over = flat_gradients(model).norm().item()
print(f"끝난 뒤 남은 그레이디언트의 노름: {left_over:.3f}")
reveal("01-bug2")

# %% tags=["folded"]
# 그림과 확인: 업데이트마다 들어간 배치
quarter = [0.25]
show_recipes(
    opt.recipes[:3],
    [quarter * 4, [0.0] * 4 + quarter * 4, [0.0] * 8 + quarter * 4],
    "루프 2의 업데이트에 들어간 배치",
    "업데이트 세 칸. 첫 칸은 g1 하나만 0.25입니다. 둘째 칸은 g2부터 g5까지 0.25입니다. "
    "셋째 칸은 지난 에폭의 g6부터 g8까지와 새 에폭의 첫 배치 g9가 0.25입니다. 바른 루프의 테두리와 어긋나 있습니다.",
)
assert opt.recipes[:3] == [quarter, [0.0] + quarter * 4, [0.0] * 5 + quarter * 4]
assert left_over > 0.01

# %% [markdown]
r"""
<details>
<summary>설명</summary>

잘못이 세 가지 겹칩니다.

1. 첫 업데이트가 마이크로 배치 하나로, 그것도 4분의 1 크기로 일어납니다. `(i + 1) % NUM_ACCUM == 0`이어야 합니다.
2. 에폭 끝의 세 개가 그 에폭의 업데이트에 들어가지 않습니다.
3. 지우는 줄이 에폭 밖에 있어서, 남은 세 개가 다음 에폭의 첫 업데이트에 섞입니다. 마지막 에폭에서는 그마저 버려집니다.

조건을 고쳐도 개수가 나누어떨어지지 않으면 2번과 3번은 남습니다. `accumulate`에서 남은 구간을 따로 생각한 까닭입니다.

</details>

### 루프 3

검증(validation)을 에폭 끝에 붙였습니다. 모델에는 드롭아웃이 있습니다. 세 에폭 동안 드롭아웃이 켜진 채 학습하는 에폭은 몇 개일까요?

- a: 하나
- b: 둘
- c: 셋
"""


# %% tags=["find-the-bug"]
def loop_3(model, opt, batches, epochs):
    model.train()
    for epoch in range(epochs):
        for xb, yb in batches:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(x_val).argmax(dim=1) == y_val).float().mean().item()
        print(f"에폭 {epoch + 1}: 검증 정확도 {accuracy:.3f}")


# %% tags=["predict"]
predict("01-bug3")

# %%
torch.manual_seed(14)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10)).to(device)
modes, batches = [], make_batches(seed=14)
model[2].register_forward_hook(
    lambda layer, inputs, output: modes.append(layer.training) if torch.is_grad_enabled() else None
)
loop_3(model, torch.optim.SGD(model.parameters(), lr=0.1), batches, epochs=3)
dropout_on = [sum(modes[start : start + len(batches)]) for start in range(0, len(modes), len(batches))]
print("에폭마다 드롭아웃이 켜져 있던 학습 스텝:", dropout_on)
reveal("01-bug3")

# %% tags=["folded"]
# 확인: 드롭아웃이 켜져 있던 스텝의 수
assert dropout_on == [len(batches), 0, 0]

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`model.train()`이 에폭 밖에 한 번만 있습니다. 오류도 없고 검증 정확도도 오르므로 모르고 지나가기 쉽습니다. 실제 사례: [hendrycks/ethics#5](https://github.com/hendrycks/ethics/issues/5), [optuna#1725](https://github.com/optuna/optuna/pull/1725). 두 가지 습관이 막아 줍니다. 학습하는 쪽은 **에폭마다** `model.train()`을 부르고(`fit`), 평가하는 쪽은 **함수를 부르기 전의 모드로 되돌립니다**(`evaluate`).

</details>

### 루프 4

배치 손실의 평균을 구합니다. 평균값은 맞습니다. 무엇이 문제일까요?

- a: `total_loss`도 그래프에 들어가, 둘째 배치부터 앞 배치의 그레이디언트까지 다시 더해집니다.
- b: 앞 배치의 손실은 이미 역전파를 마쳤으므로, 더하는 줄에서 오류가 납니다.
- c: 모든 스텝의 계산 그래프가 에폭이 끝날 때까지 살아 있습니다.
"""


# %% tags=["find-the-bug"]
def loop_4(model, opt, batches):
    total_loss = 0.0
    for xb, yb in batches:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        total_loss += loss
    return total_loss / len(batches)


# %% tags=["predict"]
predict("01-bug4")

# %%
model, batches = make_model(seed=15), make_batches(seed=15)
mean_loss = loop_4(model, torch.optim.SGD(model.parameters(), lr=0.1), batches)
print("돌려준 것:", type(mean_loss).__name__, "grad_fn =", type(mean_loss.grad_fn).__name__)

# 나눗셈 다음부터 덧셈 노드를 하나씩 거슬러 올라가 셉니다
node, kept = mean_loss.grad_fn.next_functions[0][0], 0
while type(node).__name__ == "AddBackward0":
    node, kept = node.next_functions[0][0], kept + 1
print(f"살아 있는 덧셈 노드 {kept}개, 학습한 스텝 {len(batches)}개")
reveal("01-bug4")

# %% tags=["folded"]
# 확인: 위에서 센 노드의 수와, 업데이트마다 들어간 배치
assert kept == len(batches)

model, opt, batches = recipe_fixture(seed=15, n_batches=3)
loop_4(model, opt, batches)
assert opt.recipes == [[1.0], [0.0, 1.0], [0.0, 0.0, 1.0]]

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`total_loss`가 모든 스텝의 `loss`를 붙들고, `loss`가 각자의 그래프를 붙듭니다. `backward()`가 저장된 텐서는 해제하므로 스텝마다 새는 양은 적습니다. 같은 코드를 **검증 루프에** `no_grad()` 없이 쓰면 저장된 텐서까지 모두 남아 훨씬 빨리 메모리가 찹니다. 고치려면 `total_loss += loss.item()`으로 숫자만 더합니다. 샘플 평균이 필요하면 `len(xb)`를 곱해 더하고 전체 샘플 수로 나눕니다. 실제 사례: [horovod#641](https://github.com/horovod/horovod/pull/641).

</details>

### 루프 5

분류 모델의 출력을 확률로 바꾸어 손실에 넣었습니다. 모든 샘플을 정답 확률 1로 맞힐 때까지 학습한다면, 이 손실은 어디까지 내려갈까요?

- a: 0
- b: 1.46쯤
- c: 2.30쯤
"""


# %% tags=["find-the-bug"]
def loop_5(model, opt, batches):
    for xb, yb in batches:
        opt.zero_grad()
        probabilities = torch.softmax(model(xb), dim=1)
        loss = nn.functional.cross_entropy(probabilities, yb)
        loss.backward()
        opt.step()
    return loss.item()


# %% tags=["predict"]
predict("01-bug5")

# %%
model = make_model(seed=16, hidden=64)
batches = make_batches(seed=16, epochs=10)
last = loop_5(model, torch.optim.Adam(model.parameters(), lr=0.01), batches)
# 가장 좋은 경우: 정답의 확률이 1, 나머지 아홉이 0입니다
best_possible = F.cross_entropy(torch.eye(10)[:1], torch.tensor([0])).item()
with torch.no_grad():
    accuracy = (model(x_train).argmax(dim=1) == y_train).float().mean().item()
print(f"마지막 손실 {last:.3f}, 이론상 가장 낮은 손실 {best_possible:.3f}, 학습 정확도 {accuracy:.3f}")
reveal("01-bug5")

# %% tags=["folded"]
# 확인: 가장 낮은 손실, 마지막 손실, 정확도. 그리고 아래에 나오는 두 버그
assert abs(best_possible - 1.461) < 1e-3
assert best_possible - 1e-3 <= last < 1.8
assert accuracy > 0.9

# (N, 1)과 (N,)을 빼면 (N, N)이 됩니다. 이 손실이 가장 작은 예측은 모두 평균입니다
predicted, wanted = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([1.0, 2.0, 3.0])
assert (predicted - wanted).shape == (3, 3)
assert ((predicted - wanted) ** 2).mean() > ((torch.full((3, 1), 2.0) - wanted) ** 2).mean() > 0

# 스텝마다 새로 만든 모멘텀 SGD는 모멘텀이 없는 SGD와 같습니다
ends = []
for momentum, anew in [(0.9, True), (0.0, False)]:
    model = make_model(seed=18)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
    for xb, yb in make_batches(seed=18)[:10]:
        if anew:
            opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    ends.append(model[0].weight.detach())
assert torch.allclose(*ends, rtol=0, atol=1e-6)

# %% [markdown]
r"""
<details>
<summary>설명</summary>

확률은 0과 1 사이이므로 softmax를 한 번 더 하면 정답의 몫이 많아야 $e/(e+9) \approx 0.232$입니다. 손실은 $-\ln 0.232 \approx 1.46$ 아래로 내려가지 못합니다. 방금 본 것처럼 정확도는 오르기 때문에 그냥 지나치기 쉽습니다. `nn.CrossEntropyLoss`에는 로짓을 그대로 넣습니다.

</details>

질문이 자주 올라오는 조용한 버그가 둘 더 있습니다. 회귀에서 예측의 모양이 `(N, 1)`이고 정답이 `(N,)`이면 차이가 `(N, N)`으로 퍼져, 모두 평균으로 예측하는 쪽의 손실이 더 낮습니다. 빼기 전에 모양을 맞춥니다. 옵티마이저를 스텝마다 새로 만들면 모멘텀 같은 상태가 매번 사라집니다. 만드는 줄은 루프 밖에 둡니다.

## 2. 화이트보드

약 5분 · ★☆☆

위를 보지 말고 다섯 줄을 씁니다. 자동 완성도 끄면 더 좋습니다. 다 쓴 다음 아래 셀을 실행하면 손으로 계산한 세 스텝과 비교합니다.
"""


# %% tags=["whiteboard"]
def from_memory(model, opt, loss_fn, xb, yb): ...


# %%
print(grade_whiteboard(from_memory))

# %% tags=["folded"]
# 확인: 아무것도 쓰지 않으면 움직이지 않았다고 말합니다
assert "움직이지 않았습니다" in grade_whiteboard(lambda *args: None)

# %% [markdown]
r"""
## 정리

약 5분 · ★☆☆

| 줄 | 왜 이 자리에 있을까요 | 빠지거나 옮기면 |
|---|---|---|
| `opt.zero_grad()` | `backward()`가 더하기 때문에, 더하기 전에 지웁니다 | 빠지면 지난 그레이디언트가 계속 더해집니다. `backward()`와 `step()` 사이에 두면 조금도 움직이지 않습니다 |
| `logits = model(xb)` | 지금 가중치로 로짓을 내고 그래프를 새로 만듭니다 | 빠지면 `NameError`이거나, 이미 쓴 그래프라며 `backward()`가 멈춥니다 |
| `loss = loss_fn(logits, yb)` | 역전파가 출발할 숫자 하나를 만듭니다 | 순전파를 뺐을 때와 같습니다 |
| `loss.backward()` | 그래프를 따라가 `p.grad`에 더합니다 | 빠지거나 `step()` 뒤에 두면 움직이지 않습니다 |
| `opt.step()` | `p.grad`를 읽어 옮깁니다. `backward()` 뒤, 다음번 지우는 줄 앞입니다 | 빠지면 움직이지 않습니다. 지우는 줄과 함께 `backward()` 앞으로 옮기면, 두 계층 모델은 가중치가 바뀌었다며 멈춥니다 |

네 가지만 더 기억하세요.

1. 손실이 내려간다고 루프가 맞는 것은 아닙니다. 두세 스텝의 가중치를 비교해야 압니다.
2. 마이크로 배치의 크기가 같고 배치 정규화와 드롭아웃이 없으면, 손실을 그 구간의 마이크로 배치 수로 나눈 누적은 반올림 오차 안에서 큰 배치와 같습니다. 크기가 다르면 샘플 수로 가중합니다.
3. 누적이 아끼는 것은 역전파를 위해 저장하는 텐서이지 계산이 아닙니다.
4. 학습 모드와 평가 모드, `requires_grad`, `no_grad`는 서로 다른 스위치입니다.

배운 것은 조금씩 자주 꺼내 볼 때 오래 남습니다. 내일부터 하루에 5분, 터미널의 `grader clinic`으로 틀린 코드를 하나씩 고쳐 보세요.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 아무것도 보지 않고 다섯 줄을 쓰고, 각 줄이 왜 그 자리에 있는지 말합니다.
- 남이 쓴 학습 루프(training loop)에서 틀린 곳을 찾습니다.

레슨 01을 마쳤습니다. 아래의 보너스 둘은 더 하고 싶은 날에 하면 됩니다. 점수에 들어가지 않고, 힌트도 없습니다.

[다음: 학습 루프 해부](../02_loop_anatomy/1_seeds.ipynb)

### 보너스 1. `accumulate_weighted`

약 20분 · ★★★

크기가 28, 20, 12, 4인 마이크로 배치는 1/4씩 더하면 큰 배치와 달랐습니다. 크기가 **서로 다른** 마이크로 배치를 받아도 맞는 누적 루프를 씁니다. 구간마다의 업데이트는 그 구간의 샘플을 모두 이어 붙인 배치 하나로 한 업데이트와 같아야 합니다.

- `loss_fn`은 받은 샘플들의 평균 손실을 줍니다. 마이크로 배치마다 샘플이 하나 이상 있습니다.
- 이어 붙여서 한 번에 순전파하면 값은 맞지만 메모리를 아끼지 못합니다. 한 번의 순전파에는 많아야 마이크로 배치 하나를 넣습니다.
- 부르기 전에 남아 있던 그레이디언트는 업데이트에 섞이지 않고, 끝난 뒤에도 그레이디언트가 남지 않습니다. 마이크로 배치가 하나도 없어도 그렇습니다.
- 마이크로 배치가 하나도 없으면 업데이트하지 않고 0을 돌려줍니다. `accum_steps`가 1보다 작으면 그때도 `ValueError`입니다.
"""


# %% tags=["exercise:accumulate_weighted"]
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    """크기가 서로 다른 마이크로 배치 accum_steps개(한 구간)마다 한 번 업데이트하고, 업데이트한 횟수를 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다.
    accum_steps: 한 구간의 마이크로 배치 수입니다. 1보다 작으면 ValueError를 냅니다.

    구간의 그레이디언트는 그 구간의 샘플 전체의 평균 손실에서 구한 것과 같습니다. 짧은 마지막 구간도 업데이트합니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    모드는 바꾸지 않습니다.
    부르기 전의 그레이디언트는 섞이지 않고, 끝나면 그레이디언트를 남기지 않습니다.
    """
    # BEGIN SOLUTION
    from itertools import islice

    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 합니다: {accum_steps}")

    stream = iter(micro_batches)
    num_steps = 0
    opt.zero_grad()
    while window := list(islice(stream, accum_steps)):
        # 첫 마이크로 배치의 몫을 알려면 구간 전체의 샘플 수를 먼저 알아야 합니다
        num_samples = sum(len(xb) for xb, _ in window)
        for xb, yb in window:
            logits = model(xb)
            # 평균에 샘플 수를 곱하면 합이 되고, 합을 모두 더해 나누면 구간의 평균이 됩니다
            loss = loss_fn(logits, yb) * (len(xb) / num_samples)
            loss.backward()
        opt.step()
        opt.zero_grad()
        num_steps += 1
    return num_steps
    # END SOLUTION


# %% tags=["check"]
check(accumulate_weighted)

# %% [markdown]
r"""
### 보너스 2. `overfit_one_batch`

약 25분 · ★★☆

새 모델로 긴 학습을 시작하기 전에 하는 점검이 있습니다. **배치 하나를 외우게 해 봅니다.** 같은 배치로 계속 업데이트하면 손실은 0 가까이 내려가야 합니다. 내려가지 않으면 데이터를 더 넣을 것이 아니라 버그를 찾아야 합니다. 그 점검을 함수로 씁니다.

되풀이할 일은 이렇습니다. 학습 모드에서 순전파해 손실을 재고 리스트에 담습니다. 손실이 `target` **이하**이면(반올림하지 않고 비교합니다) 업데이트하지 않고 끝냅니다. 아니면 그 손실로 한 번 업데이트합니다. NaN은 `target` 이하가 아니므로 NaN에서는 끝내지 않습니다. 업데이트를 `max_steps`번 했으면 손실을 더 재지 않고 끝냅니다.

- 순전파 한 번에 손실이 하나이므로, 리스트의 길이는 순전파한 횟수이고 많아야 `max_steps`입니다. `max_steps`가 0이면 순전파하지 않고 빈 리스트를 돌려줍니다.
- 업데이트마다 이번 순전파의 그레이디언트만 씁니다. 부르기 전에 남아 있던 것도 섞이지 않습니다. 업데이트를 했든 하지 않았든, `max_steps`가 0이었든, 끝나면 그레이디언트를 남기지 않습니다.
- 모델은 어떤 모드로도 올 수 있습니다. 모든 모듈을 학습 모드로 바꾸고, 끝나면 모듈마다 부르기 전의 모드로 되돌립니다. `loss_fn`에서 예외가 나오면, Ctrl+C로 멈춘 것(`KeyboardInterrupt`)이라도 그대로 내보내되, 모드는 그때도 되돌립니다.
"""


# %% tags=["exercise:overfit_one_batch"]
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    """같은 배치로 업데이트를 되풀이하고, 업데이트하기 전마다 잰 손실을 float의 리스트로 돌려줍니다.

    target: 잰 손실이 target 이하이면 더 업데이트하지 않고 끝냅니다. NaN은 이하가 아닙니다.
    max_steps: 업데이트를 많아야 이만큼 합니다. 다 했으면 손실을 더 재지 않습니다. 0이면 빈 리스트를 돌려줍니다.

    모든 모듈을 학습 모드로 바꾸어 재고, 끝나면 모듈마다 되돌립니다. loss_fn에서 어떤 예외가 나와도 되돌립니다.
    부르기 전의 그레이디언트는 섞이지 않고, 끝나면 그레이디언트를 남기지 않습니다.
    """
    # BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    losses = []
    model.train()
    try:
        for _ in range(max_steps):
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            losses.append(loss.item())
            if losses[-1] <= target:
                break
            loss.backward()
            opt.step()
    finally:
        for module, mode in modes.items():
            module.training = mode
    opt.zero_grad()
    return losses
    # END SOLUTION


# %% tags=["check"]
check(overfit_one_batch)
