# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# 한 train step

학습(training)은 같은 다섯 줄의 반복입니다. 이 노트북에서는 그 다섯 줄을 하나하나 뜯어봅니다. 처음 배우는 사람이라면 모두 **5시간쯤** 걸립니다. 읽고 예측하고 실행하는 데 2시간 30분, 연습 7개(함수 8개)를 푸는 데 2시간 20분쯤입니다. 점수에 들어가지 않는 몸풀기 1개(10분)와 보너스 2개(45분)는 따로입니다. PyTorch로 학습해 본 적이 있다면 3시간쯤 잡으면 됩니다. 하루에 다 하지 않아도 됩니다. 4절까지 하고 쉬었다가 5절부터 이어 가면 좋습니다.

제목 아래에는 걸리는 시간과 난이도를 적었습니다. 난이도는 ★☆☆, ★★☆, ★★★의 차례로 어려워집니다. 절의 시간에는 연습이 들어 있지 않고, 연습의 시간은 따로 적었습니다. 시간은 모두 처음 배우는 사람을 기준으로 어림한 것입니다. 비슷한 코드를 써 보았다면 연습은 그 절반이면 됩니다.

이 노트북을 마치면 다음을 할 수 있습니다.

- 아무것도 보지 않고 다섯 줄을 쓰고, 각 줄이 왜 그 자리에 있는지 말합니다.
- 그레이디언트(gradient)가 어디에 있고, `backward()`가 무엇을 따라가고, `step()`이 무엇을 읽는지 코드로 확인합니다.
- `zero_grad()`를 빠뜨린 버그와 `step()`을 일찍 부른 버그를 실제 증상으로 구별합니다.
- 그레이디언트 누적(gradient accumulation)이 큰 배치와 같아지는 조건과 달라지는 조건을 수치로 말합니다.
- 남이 쓴 학습 루프(training loop)에서 틀린 곳을 찾습니다.

**쓰는 법**

1. 셀을 누르고 Shift+Enter를 치면 그 셀을 실행하고 다음 셀로 넘어갑니다. 실행하는 동안 셀의 왼쪽에 `[*]:`가, 끝나면 `[1]:` 같은 번호가 보입니다. 새 셀은 위쪽 도구 모음의 `+`로 만듭니다. 고르고 있던 셀 아래에 생깁니다.
2. 예측을 먼저 고르고, 그다음 실험을 실행합니다. 틀려도 점수와 상관없습니다. 빗나간 예측일수록 기억에 오래 남습니다. 고르기 전에 실행하면 실험은 끝까지 하되 결과를 가려 두고, 까닭도 보여 주지 않습니다.
3. 연습 셀에 함수를 쓰고 그 셀을 실행한 다음, 바로 아래의 `check(...)`를 실행합니다. 코드의 모양이 아니라 동작으로 채점합니다. 확인하려고 넣은 `print`는 다 쓴 다음 지웁니다.
4. 막히면 바로 아래 `# hint("train_step")`에서 `#`을 지우고 실행합니다. 실행할 때마다 힌트가 하나씩 나옵니다. 마지막 힌트에만 답이 있습니다. 보너스에는 힌트가 없습니다.

본문의 수치는 모두 이 노트북에서 재고, 결론은 `assert`로 확인합니다. 사실과 다르면 그 셀에서 실행이 멈춥니다. 데이터를 준비하고 표와 그림을 만들고 결론을 확인하는 코드는 접어 두었습니다. 접힌 셀도 순서대로 실행하되, 코드는 궁금할 때 펼쳐 보면 됩니다.

먼저 아래의 접힌 셀을 모두 실행합니다. scikit-learn에 들어 있는 8×8 손글씨 숫자 1,797장을 준비하고, 실험에서 거듭 쓸 함수 셋(모델 만들기 `make_model`, 배치 만들기 `make_batches`, 텐서를 한 줄로 잇기 `flat`)을 정의합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 데이터, 실험에서 거듭 쓰는 함수
import time
import warnings
from itertools import permutations
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.plots import COLORS, draw_backward_graph, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"  # 비트까지 같다는 주장은 CPU에서만 확인합니다

# scikit-learn에 들어 있는 8×8 손글씨 숫자 1,797장입니다. 내려받지 않습니다
images, labels = load_digits(return_X_y=True)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
images = torch.tensor(images, dtype=torch.float32)[order].to(device) / 16
labels = torch.tensor(labels)[order].to(device)
x_train, y_train = images[:1437], labels[:1437]
x_val, y_val = images[1437:], labels[1437:]
loss_fn = nn.CrossEntropyLoss()


def make_model(seed, *, hidden=32):
    """64 → hidden → 10 분류기입니다. hidden=None이면 계층이 하나뿐입니다."""
    torch.manual_seed(seed)
    if hidden is None:
        return nn.Sequential(nn.Linear(64, 10)).to(device)
    return nn.Sequential(nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 10)).to(device)


def make_batches(seed, batch_size=32, epochs=1):
    """학습 데이터를 섞어 미니 배치로 나눈 리스트입니다."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(epochs):
        for rows in torch.randperm(len(x_train), generator=generator).split(batch_size):
            batches.append((x_train[rows.to(device)], y_train[rows.to(device)]))
    return batches


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 두 모델을 한 번에 비교할 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


print(f"PyTorch {torch.__version__}, {device}, 학습 {len(x_train)}장, 검증 {len(x_val)}장")

# %% [markdown]
r"""
## 1. 다섯 줄

약 20분 · ★☆☆

먼저 용어부터 정리하겠습니다. 매개변수(parameter)는 학습하면서 값이 바뀌는 텐서이고, 코드에서는 `p`라고 씁니다. 손실(loss)은 얼마나 틀렸는지를 나타내는 숫자 하나입니다. 그레이디언트는 손실을 매개변수로 미분한 값으로, 매개변수를 조금 움직일 때 손실이 얼마나 바뀌는지 알려 줍니다. 손실이 줄어드는 쪽으로 매개변수를 옮기는 것이 업데이트(update)이고, 그 일을 맡는 것이 옵티마이저(optimizer)입니다. 가장 단순한 옵티마이저 SGD는 학습률(learning rate) $\eta$와 그레이디언트 $g$로 이렇게 옮깁니다.

$$ p \leftarrow p - \eta\, g $$

그레이디언트를 구하려면 매개변수에서 손실까지 어떤 계산을 거쳤는지 알아야 합니다. PyTorch는 계산하면서 그 기록을 남깁니다. 이 기록이 계산 그래프(computation graph)입니다. 구한 그레이디언트는 매개변수마다 하나씩 있는 `p.grad`에 담깁니다. 아직 구하지 않았거나 지운 `p.grad`는 `None`입니다.

한 스텝(step)은 미니 배치(mini-batch) 하나로 매개변수를 한 번 바꾸는 일입니다. 다섯 줄이면 됩니다.

```python
opt.zero_grad()              # 1. 지웁니다
logits = model(xb)           # 2. 순전파
loss = loss_fn(logits, yb)   # 3. 손실
loss.backward()              # 4. 역전파
opt.step()                   # 5. 업데이트
```

순서를 통째로 외울 필요는 없습니다. 줄마다 무엇을 읽고 무엇을 바꾸는지 보면 저절로 정해집니다.

| 줄 | 읽는 것 | 만들거나 바꾸는 것 |
|---|---|---|
| `opt.zero_grad()` | 없음 | 모든 `p.grad`를 지웁니다 |
| `logits = model(xb)` | 매개변수, 입력 | 로짓(logits, 클래스별 점수)과 계산 그래프 |
| `loss = loss_fn(logits, yb)` | 로짓, 정답 | 손실 하나, 그래프의 끝 |
| `loss.backward()` | 계산 그래프와 그 안에 저장된 값(가중치 등) | `p.grad`. 그래프에 저장된 값은 쓰고 나서 놓아 줍니다 |
| `opt.step()` | 매개변수, `p.grad`, 학습률 같은 설정, 옵티마이저의 상태 | 매개변수, 옵티마이저의 상태 |

2번에서 5번까지는 앞줄이 만든 것을 뒷줄이 읽습니다. 그래서 한 스텝 안에서 이 순서를 바꿀 수 없습니다. 그렇다면 1번은 왜 필요할까요? 4번 줄이 `p.grad`에 값을 어떻게 넣는지에 달려 있습니다.

**예측 1.** 같은 배치로 순전파(forward pass)와 역전파(backward pass)를 두 번 하고, 그사이에 그레이디언트를 지우지 않습니다. `p.grad`는 어떻게 될까요?

- a: 두 번째 값으로 덮어써집니다. 같은 배치이므로 한 번 했을 때와 같습니다.
- b: 두 배가 됩니다.
- c: 이미 값이 있어서 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-1")

# %%
model = make_model(seed=0)
weight = model[0].weight
xb, yb = make_batches(seed=0)[0]

at_first = weight.grad
print("backward 전:", at_first)

loss_fn(model(xb), yb).backward()
once = weight.grad.clone()
loss_fn(model(xb), yb).backward()
twice = weight.grad.clone()

print(f"한 번: 노름 {once.norm():.4f}")
print(f"두 번: 노름 {twice.norm():.4f}")
reveal("01-1")

# %% tags=["folded"]
# 확인: backward 전과, 한 번 하고 두 번 한 뒤의 값
assert at_first is None
assert torch.allclose(twice, 2 * once, rtol=1e-5)

# %% [markdown]
r"""
덮어쓰지 않고 더하기 때문에, 손실을 여러 조각으로 나누어 `backward()`를 여러 번 불러도, 그 조각을 **더한** 손실로 한 번 부른 것과 같아집니다. 5절의 그레이디언트 누적이 이 성질을 씁니다. 그 대신 지우는 일은 코드를 쓰는 사람이 해야 합니다. 1번 줄이 그 일을 합니다.

위의 표에 한 가지를 더해 읽으세요. `backward()`는 `p.grad`에 이미 있던 값도 읽어 거기에 더합니다. 그렇다면 지우는 줄을 옮겨도 될까요?

**예측 2.** 다섯 줄을 늘어놓는 순서는 5! = 120가지입니다. 순서 하나를 골라 배치 다섯 개에 되풀이합니다. 바른 순서와 똑같은 가중치(weight)에 이르는 순서는, 바른 순서까지 넣어 모두 몇 가지일까요?

- a: 1가지
- b: 2가지
- c: 4가지
"""

# %% tags=["predict"]
predict("01-2")

# %%
LINES = {
    "지움": "opt.zero_grad()",
    "순전파": "logits = model(xb)",
    "손실": "loss = loss_fn(logits, yb)",
    "역전파": "loss.backward()",
    "업데이트": "opt.step()",
}
five_batches = make_batches(seed=1)[:5]


def run_order(line_order, batches, *, first_order=None):
    """줄을 주어진 순서로 배치마다 실행하고 마지막 가중치를 돌려줍니다. 첫 배치의 순서는 따로 정할 수 있습니다."""
    model = make_model(seed=1)
    space = {"model": model, "loss_fn": loss_fn, "opt": torch.optim.SGD(model.parameters(), lr=0.1)}
    for number, (xb, yb) in enumerate(batches):
        space.update(xb=xb, yb=yb)
        for name in first_order if first_order and number == 0 else line_order:
            exec(LINES[name], space)  # 글자로 적힌 한 줄을 실행합니다
    return flat(model.parameters())


# %% tags=["folded"]
# 표: 120가지 순서를 하나씩 실행해, 나온 결과를 다섯 가지로 나눕니다
start = run_order([], five_batches)
right = run_order(LINES, five_batches)
one_short = run_order(LINES, five_batches[:-1])

outcomes = {}
for line_order in permutations(LINES):
    try:
        result = run_order(line_order, five_batches)
    except NameError:
        outcome = "오류: 아직 없는 이름을 읽음"
    except RuntimeError:
        outcome = "오류: backward에서 멈춤"
    else:
        if torch.allclose(result, right, rtol=0, atol=1e-6):
            outcome = "바른 가중치"
        elif torch.equal(result, start):
            outcome = "조금도 움직이지 않음"
        elif torch.allclose(result, one_short, rtol=0, atol=1e-6):
            outcome = "마지막 업데이트만 빠짐"
        else:
            outcome = "그 밖의 가중치"
    outcomes.setdefault(outcome, []).append(" → ".join(line_order))

show_table(
    ["결과", "가짓수"],
    sorted(((outcome, len(found)) for outcome, found in outcomes.items()), key=lambda row: row[1]),
)
print("바른 가중치에 이르는 순서:")
for line_order in outcomes["바른 가중치"]:
    print("   ", line_order)
reveal("01-2")

# %% tags=["folded"]
# 확인: 결과마다 몇 가지인지, 움직이지 않은 순서가 어떤 순서인지
counts = {outcome: len(found) for outcome, found in outcomes.items()}
assert counts == {
    "오류: 아직 없는 이름을 읽음": 100,
    "조금도 움직이지 않음": 10,
    "바른 가중치": 4,
    "마지막 업데이트만 빠짐": 3,
    "오류: backward에서 멈춤": 3,
}


def clears_before_use(line_order):
    """다섯 줄의 끝과 처음을 이었을 때, 역전파 다음에 지움이 업데이트보다 먼저 오는지 봅니다."""
    names = line_order.split(" → ")
    after_backward = names[names.index("역전파") :] + names
    return after_backward.index("지움") < after_backward.index("업데이트")


ran = [line_order for outcome, found in outcomes.items() if "이름" not in outcome for line_order in found]
assert set(filter(clears_before_use, ran)) == set(outcomes["조금도 움직이지 않음"])

# %% [markdown]
r"""
120가지 가운데 4가지만 맞습니다. 네 순서에서 2번부터 5번까지는 모두 같고, 지우는 줄의 자리만 다릅니다. 지우는 줄은 `step()`이 읽은 다음, 다음번 `backward()`가 더하기 전이면 어디든 됩니다. `backward()`보다 앞에서 지우는 세 순서는 앞의 코드가 그레이디언트를 남겼더라도 맞습니다. 그 가운데 눈에 가장 잘 띄는 첫 줄을 권합니다.

스텝은 되풀이되므로 다섯 줄은 끝과 처음이 이어진 **순환**입니다. `backward()`에서 출발해 이 순환을 따라갈 때 `step()`보다 지우는 줄을 먼저 만나면, 방금 구한 그레이디언트를 쓰기 전에 버립니다. 이름 오류 없이 실행된 20가지 가운데 움직이지 않은 10가지가 모두 이런 경우이고, 나머지 10가지는 이런 경우가 아닙니다. 「마지막 업데이트만 빠짐」 3가지는 바른 순환을 중간부터 시작한 것입니다. 마지막 배치의 그레이디언트가 쓰이지 않고 남을 뿐입니다.

오류로 멈춘 103가지는 오히려 다행입니다. **아무 말 없이 움직이지 않는 10가지가 문제입니다.**

**예측 3.** 이번에는 자리를 바꾸지 않고 한 줄씩 뺍니다. 오류 없이 끝까지 실행되는데 매개변수가 조금도 움직이지 않는 것은 어느 줄을 뺐을 때일까요?

- a: 업데이트(5번)뿐입니다. 역전파를 빼면 `step()`이 읽을 것이 없어 오류가 납니다.
- b: 지우는 줄이나 업데이트(1번, 5번)입니다.
- c: 역전파나 업데이트(4번, 5번)입니다.
"""

# %% tags=["predict"]
predict("01-3")


# %%
def symptom(line_order, **first):
    """배치 다섯 개를 실행한 결과: 오류의 첫 문장, 또는 가장 많이 움직인 거리."""
    try:
        moved = (run_order(line_order, five_batches, **first) - start).abs().max().item()
    except (NameError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).split('(')[0].split('.')[0].strip()}"
    return f"{moved:.3f}만큼 움직임" if moved else "움직이지 않음"


missing = {"(모두 있음)": [symptom(LINES), ""]}
for line in LINES:
    rest = [name for name in LINES if name != line]
    missing[line] = [symptom(rest), symptom(rest, first_order=list(LINES))]
show_table(
    ["뺀 줄", "처음부터 뺌", "둘째 배치부터 뺌"],
    [[line, *found] for line, found in missing.items()],
)
reveal("01-3")

# %% [markdown]
r"""
표에 없는 경우가 하나 더 있습니다. 손실을 만들지 않고 로짓에서 바로 `backward()`를 부르면 어떻게 되는지 봅니다.
"""

# %%
try:
    make_model(seed=1)(x_train[:32]).backward()
    no_loss = None
except RuntimeError as error:
    no_loss = str(error)
print("logits.backward():", no_loss)

# %% tags=["folded"]
# 확인: 표의 칸마다 나온 결과와, 로짓에서 출발했을 때의 오류
assert all("움직임" in found for found in missing["지움"])
assert missing["순전파"][0] == "NameError: name 'logits' is not defined"
assert missing["손실"][0] == "NameError: name 'loss' is not defined"
assert all("backward through the graph a second time" in missing[line][1] for line in ["순전파", "손실"])
assert missing["역전파"][0] == missing["업데이트"][0] == "움직이지 않음"
assert "움직임" in missing["역전파"][1]
assert "scalar" in no_loss

# %% [markdown]
r"""
- **순전파나 손실**을 빼면 뒷줄이 읽을 이름이 없습니다. 앞 배치의 `logits`나 `loss`가 남아 있으면 더 헷갈립니다. 이미 쓴 그래프를 다시 거슬러 가려다 멈춥니다. `backward()`는 그래프에 저장된 값을 쓰고 나서 놓아 주기 때문입니다. 그래서 **그래프는 배치마다 새로 만들어야 하고, 그 일을 2번과 3번 줄이 합니다.**
- **손실**은 숫자 하나여야 합니다. 매개변수를 움직일 때 얼마나 바뀌는지 잴 값이 하나로 정해져야 하기 때문입니다. 로짓은 여러 개라서 `logits.backward()`는 출발하지 못합니다.
- **역전파**를 빼면 `p.grad`가 비어 있어 `step()`이 읽을 것이 없습니다. `step()`은 `p.grad`가 `None`인 매개변수를 오류 없이 건너뜁니다. 둘째 배치부터 빼면 첫 배치에서만 움직입니다.
- **업데이트**를 빼면 그레이디언트는 나오지만 매개변수를 바꾸는 줄이 없습니다.
- **지우는 줄**을 빼면 오류도 없고 움직이기도 합니다. 무엇이 잘못되는지는 3절에서 잽니다.

### 연습 1. `train_step`

약 15분 · ★☆☆

다섯 줄을 함수로 씁니다. 돌려줄 값은 업데이트하기 **전의** 손실이고, 텐서가 아니라 Python의 `float`입니다. 원소가 하나인 텐서의 값은 `.item()`으로 꺼냅니다. 모델의 모드는 건드리지 않습니다(모드는 4.2절에서 봅니다). `model.train()`과 `model.eval()`은 이 함수를 부르는 쪽이 정합니다.
"""


# %% tags=["exercise:train_step"]
def train_step(model, opt, loss_fn, xb, yb) -> float:
    """미니 배치 하나로 매개변수를 한 번 업데이트하고, 업데이트하기 전의 손실을 float로 돌려줍니다.

    지난 그레이디언트는 스텝의 처음에 지워도 끝에 지워도 됩니다. 처음 부를 때는 .grad가 비어 있습니다.
    """
    # BEGIN SOLUTION
    # 1. 지난 스텝의 그레이디언트를 지웁니다
    opt.zero_grad()
    # 2. 순전파: 예측합니다
    logits = model(xb)
    # 3. 손실: 얼마나 틀렸는지 숫자 하나로 줄입니다
    loss = loss_fn(logits, yb)
    # 4. 역전파: 매개변수마다 .grad를 채웁니다
    loss.backward()
    # 5. 업데이트: .grad를 읽어 매개변수를 옮깁니다
    opt.step()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(train_step)

# %% [markdown]
r"""
통과했으면 새 셀에서 `microscope(train_step)`을 실행해 보세요. 직접 쓴 줄 하나하나가 매개변수와 `.grad`를 어떻게 바꾸는지 정답과 나란히 볼 수 있습니다. 지금까지의 레벨과 업적, 다음에 할 것은 `progress()`가 보여 줍니다. 이 다섯 줄이 손에 익었는지는 나중에 터미널에서 `grader drill`(노트북에서는 `drill()`)을 실행해 확인합니다. 기억만으로 쓰는 데 걸린 시간을 잽니다.

## 2. 두 줄을 더 끼웁니다

약 10분 · ★☆☆

실제 학습 루프에는 두 줄이 더 있습니다. 그레이디언트 클리핑(gradient clipping)과 스케줄러(scheduler)입니다.

```python
opt.zero_grad()
logits = model(xb)
loss = loss_fn(logits, yb)
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)   # p.grad를 읽고 바꿉니다
opt.step()
scheduler.step()                                               # 학습률을 바꿉니다
```

자리는 역시 무엇을 읽고 무엇을 바꾸는지로 정해집니다. 자리를 옮기면 어떻게 되는지 하나씩 예측하고 재 봅니다.

클리핑이 재는 것은 매개변수마다의 노름(norm, 벡터의 길이)이 아닙니다. 모든 그레이디언트를 이어 붙인 벡터 하나의 노름입니다. 이 노름이 `max_norm`보다 크면 전체에 같은 수를 곱해 줄입니다. 그래서 방향은 그대로입니다.

**예측 4.** `clip_grad_norm_`을 `opt.step()` 바로 다음 줄로 옮깁니다. 20스텝 뒤의 가중치는 어떨까요?

- a: 클리핑이 없는 것과 같습니다.
- b: 바른 자리에 둔 것과 거의 같습니다.
- c: 어느 쪽과도 다릅니다.
"""

# %% tags=["predict"]
predict("01-4")


# %%
def run_with_clip(place, max_norm=0.1):
    """클리핑을 place에 두고 20스텝 학습한 가중치와, 첫 스텝의 그레이디언트 노름을 돌려줍니다."""
    model = make_model(seed=2)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    first_norm = None
    for xb, yb in make_batches(seed=2)[:20]:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        if place == "backward 전":
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        loss.backward()
        if first_norm is None:
            first_norm = flat(p.grad for p in model.parameters()).norm().item()
        if place == "backward와 step 사이":
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        if place == "step 다음":
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return flat(model.parameters()), first_norm


# %%
no_clip, first_norm = run_with_clip("없음")
print(f"첫 스텝의 그레이디언트 노름은 {first_norm:.3f}, max_norm은 0.1입니다")
distance = {}
for place in ["backward 전", "backward와 step 사이", "step 다음"]:
    weights, _ = run_with_clip(place)
    distance[place] = (weights - no_clip).abs().max().item()
show_table(["클리핑의 자리", "클리핑이 없는 가중치와의 최대 차이"], distance.items())
reveal("01-4")

# %% tags=["folded"]
# 확인: 클리핑이 실제로 걸리는 설정인지와, 자리마다의 차이
assert first_norm > 0.2
assert distance["backward와 step 사이"] > 0.05
assert max(distance["backward 전"], distance["step 다음"]) < (1e-12 if on_cpu else 1e-5)

# %% [markdown]
r"""
클리핑은 `p.grad`를 바꿉니다. 그러니 `backward()`가 값을 넣은 다음, `step()`이 읽기 전이어야 합니다. 다른 자리에 두어도 오류는 나지 않습니다.

**예측 5.** 스케줄러를 `opt.step()`보다 먼저 부르면 어떻게 될까요?

- a: 오류로 멈춥니다.
- b: 학습은 계속되고, 첫 학습률을 한 번도 쓰지 않습니다.
- c: 학습은 계속되고, 첫 학습률을 두 번 씁니다.
"""

# %% tags=["predict"]
predict("01-5")


# %%
def learning_rates(scheduler_first):
    """네 스텝 동안 step()이 실제로 읽은 학습률과, 그동안 나온 경고를 돌려줍니다."""
    model = make_model(seed=3)
    opt = torch.optim.SGD(model.parameters(), lr=0.8)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    used = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for xb, yb in make_batches(seed=3)[:4]:
            opt.zero_grad()
            loss_fn(model(xb), yb).backward()
            if scheduler_first:
                scheduler.step()
            used.append(opt.param_groups[0]["lr"])
            opt.step()
            if not scheduler_first:
                scheduler.step()
    return used, [str(warning.message) for warning in caught]


# %%
right_rates, _ = learning_rates(scheduler_first=False)
early_rates, messages = learning_rates(scheduler_first=True)
print("step 다음에 부르면:", right_rates)
print("step 앞에서 부르면:", early_rates)
print("경고:", messages[0][:85], "…")
reveal("01-5")

# %% tags=["folded"]
# 확인: step()이 읽은 학습률과 경고의 내용
assert right_rates == [0.8, 0.4, 0.2, 0.1]
assert early_rates == [0.4, 0.2, 0.1, 0.05]
assert "optimizer.step()" in messages[0]

# %% [markdown]
r"""
스케줄러는 학습률을 바꿉니다. 그러니 이번 학습률을 `step()`이 읽은 다음이어야 합니다.

### 연습 2. `train_step_extras`

약 15분 · ★★☆

`train_step`에 클리핑과 스케줄러를 끼웁니다. 둘 다 `None`이면 `train_step`과 똑같이 움직여야 합니다. 클리핑에는 `torch.nn.utils.clip_grad_norm_`을 씁니다.
"""


# %% tags=["exercise:train_step_extras"]
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    """한 스텝에 두 가지를 끼웁니다. 업데이트하기 전의 손실을 float로 돌려줍니다. 처음 부를 때는 .grad가 비어 있습니다.

    max_norm: None이 아니면 모든 그레이디언트를 합친 노름이 max_norm을 넘지 않게 줄입니다. 0.0도 값입니다.
    scheduler: 있으면 업데이트한 다음 학습률을 한 칸 옮깁니다.
    """
    # BEGIN SOLUTION
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    # 그레이디언트가 다 나온 뒤, 쓰이기 전에 줄입니다
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    # 이번 학습률을 쓰고 나서 다음 학습률로 옮깁니다
    if scheduler is not None:
        scheduler.step()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(train_step_extras)

# %% [markdown]
r"""
## 3. 유명한 버그 두 개

약 20분 · ★★☆

### 3.1 `zero_grad()`를 빠뜨리면

입문 글은 대개 이렇게 설명합니다. 「그레이디언트가 쌓여 손실이 높게 머물고 학습이 무너진다.」 언제 그런지 예측하고 재 봅니다. 에폭(epoch)은 학습 데이터를 한 바퀴 도는 것입니다. 모멘텀(momentum)이 있는 SGD는 지난 그레이디언트를 남긴 $v \leftarrow \mu v + g$를 쌓아 $p \leftarrow p - \eta\, v$로 옮깁니다. 실험의 표에 나오는 Adam은 모멘텀에 더해 매개변수마다 보폭을 따로 조절하는 옵티마이저입니다.

**예측 6.** 숫자 데이터, 두 계층(layer) 모델, 모멘텀 없는 SGD, 학습률 0.01, 한 에폭입니다. `opt.zero_grad()`를 뺀 루프의 학습 손실은 바른 루프보다 어떨까요?

- a: 높습니다.
- b: 낮습니다.
- c: 시드(seed)에 따라 다릅니다.
"""

# %% tags=["predict"]
predict("01-6")

# %% [markdown]
r"""
**예측 7.** 같은 모델, 같은 한 에폭에 학습률 0.1, 모멘텀 0.9를 씁니다. 처음 손실은 2.3쯤입니다. 한 에폭 뒤에 `opt.zero_grad()`를 뺀 루프의 손실은 어떻게 될까요?

- a: 바른 루프보다 조금 높습니다.
- b: NaN이 됩니다.
- c: 처음 손실의 열 배를 넘습니다.
"""

# %% tags=["predict"]
predict("01-7")


# %%
def train_digits(seed, make_opt, *, epochs=1, clear=True, hidden=32):
    """마지막 학습 손실과 스텝마다의 손실을 돌려줍니다. clear=False이면 그레이디언트를 지우지 않습니다."""
    model = make_model(seed, hidden=hidden)
    opt = make_opt(model.parameters())
    curve = []
    for xb, yb in make_batches(seed, epochs=epochs):
        if clear:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        curve.append(loss.item())
    with torch.no_grad():
        return loss_fn(model(x_train), y_train).item(), curve


# %% tags=["folded"]
# 표: 옵티마이저 설정 다섯 가지를 시드 20개로, 바르게 지운 루프와 지우지 않은 루프로 학습합니다(수십 초)
def sgd(lr, momentum=0.0):
    return lambda params: torch.optim.SGD(params, lr=lr, momentum=momentum)


def adam(lr):
    return lambda params: torch.optim.Adam(params, lr=lr)


SETTINGS = {
    "SGD 0.01, 1에폭": (sgd(0.01), 1),
    "SGD 0.1 + 모멘텀 0.9, 1에폭": (sgd(0.1, momentum=0.9), 1),
    "SGD 0.5, 5에폭": (sgd(0.5), 5),
    "Adam 0.001, 5에폭": (adam(0.001), 5),
    "Adam 0.01, 5에폭": (adam(0.01), 5),
}
SEEDS = range(20)
losses, curves = {}, {}
for name, (make_opt, epochs) in SETTINGS.items():
    for clear in [True, False]:
        runs = [train_digits(seed, make_opt, epochs=epochs, clear=clear) for seed in SEEDS]
        losses[name, clear] = [final for final, _ in runs]
        curves[name, clear] = [curve for _, curve in runs]

rows = []
for name in SETTINGS:
    ok, bug = losses[name, True], losses[name, False]
    worse = sum(b > a for a, b in zip(ok, bug, strict=True))
    rows.append(
        [name, f"{median(ok):.3f}", f"{median(bug):.3f}", f"{min(bug):.2f} ~ {max(bug):.2f}", f"{worse}/20"]
    )
show_table(
    [
        "설정 (시드 20개)",
        "바른 루프 (중앙값)",
        "지우지 않은 루프 (중앙값)",
        "최소 ~ 최대",
        "버그가 더 나쁜 시드",
    ],
    rows,
)
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
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
panels = {
    "SGD 0.01, 1에폭": "SGD 0.01: 버그가 더 좋아 보입니다",
    "SGD 0.1 + 모멘텀 0.9, 1에폭": "SGD 0.1 + 모멘텀 0.9: 무너집니다",
}
for axis, (name, title) in zip(axes, panels.items(), strict=True):
    for clear, color, style in [(True, COLORS["right"], "-"), (False, COLORS["wrong"], "--")]:
        for seed, curve in enumerate(curves[name, clear]):
            label = ("바른 루프" if clear else "zero_grad 없음") if seed == 0 else None
            axis.plot(curve, color=color, linestyle=style, linewidth=0.9, alpha=0.65, label=label)
    axis.set(title=title, xlabel="스텝", yscale="log")
    for line in axis.legend().get_lines():
        line.set(linewidth=2, alpha=1)
axes[0].set_ylabel("배치 손실 (로그 눈금)")
axes[1].set_ylabel("배치 손실 (왼쪽보다 넓은 눈금)")
axes[0].set_yticks([1, 2, 3], ["1", "2", "3"])
axes[0].minorticks_off()
axes[1].set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
axes[1].minorticks_off()
show(
    figure,
    "시드 20개의 손실 곡선 두 칸. 왼쪽 SGD 0.01에서는 zero_grad가 없는 점선이 바른 실선보다 빨리 내려갑니다. "
    "오른쪽 모멘텀 0.9에서는 점선이 모두 처음 손실보다 위로 올라가 10을 넘고, 실선은 모두 1 아래로 내려갑니다.",
)
reveal("01-7")

# %% [markdown]
r"""
표의 다섯 설정 가운데 둘에서는 버그가 시드 20개 모두 더 낮은 손실을 얻고, 셋에서는 시드 20개 모두 무너집니다. 같은 버그인데 결과가 왜 이렇게 다를까요? 지우지 않으면 $k$번째 스텝의 `p.grad`에 무엇이 들어 있는지 먼저 종이에 적어 보세요.

**예측 8.** 그레이디언트를 지우지 않은 SGD와 50스텝 뒤의 가중치가 똑같은 것은 무엇일까요?

- a: 학습률을 50배로 키우고 바르게 지운 SGD
- b: 모멘텀 0.9를 쓰고 바르게 지운 SGD
- c: 모멘텀 1.0을 쓰고 바르게 지운 SGD
"""

# %% tags=["predict"]
predict("01-8")


# %%
def final_weights(momentum, clear, lr=0.05, weight_decay=0.0):
    """50스텝 학습한 가중치입니다."""
    model = make_model(seed=4)
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay)
    for xb, yb in make_batches(seed=4, epochs=2)[:50]:
        if clear:
            opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    return flat(model.parameters())


# %%
without_zero_grad = final_weights(momentum=0.0, clear=False)
others = {
    "학습률 50배": final_weights(momentum=0.0, clear=True, lr=2.5),
    "모멘텀 0.9": final_weights(momentum=0.9, clear=True),
    "모멘텀 1.0": final_weights(momentum=1.0, clear=True),
}
apart = {name: (weights - without_zero_grad).abs().max().item() for name, weights in others.items()}
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

모멘텀 SGD가 쌓는 $v_k = \mu\, v_{k-1} + g_k$에 $\mu = 1$을 넣은 식입니다. 모멘텀도 가중치 감쇠(weight decay)도 없는 SGD에서 지우기를 빼면 **모멘텀이 1.0인 SGD가 됩니다.**

가중치 감쇠는 업데이트마다 가중치를 조금씩 0 쪽으로 당기는 설정입니다. SGD는 그레이디언트 $g$ 대신 $g + \lambda p$를 읽습니다. 이것이 있으면 둘은 같지 않습니다. 모멘텀은 $\lambda p$까지 쌓는데, 지우지 않은 `p.grad`에는 $g$만 쌓이기 때문입니다.
"""

# %%
decayed = {}
for decay in [0.0, 0.0001, 0.01]:
    not_cleared = final_weights(momentum=0.0, clear=False, weight_decay=decay)
    momentum_one = final_weights(momentum=1.0, clear=True, weight_decay=decay)
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
학습률이 작을 때 모멘텀은 보폭을 키워 줍니다. 그래서 손실이 빨리 내려갑니다. 다만 1.0은 지난 그레이디언트를 영영 잊지 않는 값입니다. 앞의 다섯 설정에서는 보폭이 작은 둘이 좋아지고 보폭이 큰 셋이 무너졌습니다. 경계가 어디인지는 옵티마이저마다 다르고, 여기서는 재지 않았습니다. 연습 4 다음에 직접 찾아볼 수 있습니다. 모멘텀이 있는 SGD와 Adam은 식이 다르지만, 쌓인 합 $v_k$를 이번 그레이디언트로 알고 읽는 것은 같습니다.

두 가지를 기억해 두세요.

- **손실이 내려간다는 것은 루프가 맞는다는 증거가 아닙니다.** 이 강의의 채점기가 손실이 내려갔는지가 아니라 가중치가 맞는지를 보는 까닭입니다.
- 새 루프를 믿기 전에는 두 스텝만 손으로 계산한 값과 비교해 보세요. 첫 스텝에서는 이 버그가 드러나지 않습니다. 지울 것이 아직 없기 때문입니다.

### 3.2 `step()`을 `backward()`보다 먼저 부르면

다섯 줄에서 4번과 5번만 맞바꿉니다. `zero_grad → 순전파 → 손실 → step → backward`입니다.

**예측 9.** 이 순서로 한 에폭을 학습하면 어떻게 될까요?

- a: 매개변수가 조금도 움직이지 않습니다.
- b: 한 배치 늦은 그레이디언트로 비슷하게 학습합니다.
- c: 두 번째 배치에서 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-9")


# %%
def step_first(hidden, epochs, *, clear_first, batch_size=32):
    """step을 backward보다 먼저 부릅니다. 지우는 줄은 맨 앞이나, step과 backward 사이에 둡니다."""
    model = make_model(seed=5, hidden=hidden)
    before = flat(model.parameters())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for number, (xb, yb) in enumerate(make_batches(5, batch_size, epochs), start=1):
        if clear_first:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        opt.step()
        if not clear_first:
            opt.zero_grad()
        try:
            loss.backward()
        except RuntimeError as error:
            raise RuntimeError(f"{number}번째 배치에서 {error}") from error
    with torch.no_grad():
        final = loss_fn(model(x_train), y_train).item()
    return (flat(model.parameters()) - before).abs().max().item(), final


# %%
moved, final = step_first(hidden=32, epochs=1, clear_first=True)
print(f"zero → forward → loss → STEP → backward: 가장 많이 움직인 거리 {moved}, 손실 {final:.3f}")
reveal("01-9")

# %% tags=["folded"]
# 확인: 움직인 거리
assert moved == 0.0

# %% [markdown]
r"""
널리 퍼진 설명은 「지난 배치의 그레이디언트로 업데이트하므로, 그럭저럭 학습되는 것처럼 보인다」입니다. 지난 배치의 그레이디언트를 정말로 쓰려면 지우는 줄도 `step`과 `backward` 사이로 옮겨야 합니다. `순전파 → 손실 → step → zero_grad → backward`입니다.

**예측 10.** 이 순서로 두 계층 모델을 학습하면 어떻게 될까요? 한 계층 모델은 어떨까요?

- a: 둘 다 한 배치 늦은 그레이디언트로 학습합니다.
- b: 두 계층은 오류가 나고, 한 계층은 학습합니다.
- c: 둘 다 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-10")


# %%
def error_of(batch_size):
    """두 계층 모델에서 나온 오류의 문구입니다. 오류가 없으면 빈 글입니다."""
    try:
        step_first(hidden=32, epochs=1, clear_first=False, batch_size=batch_size)
    except RuntimeError as error:
        return str(error)
    return ""


stale_error = error_of(batch_size=32)
print("두 계층:", (stale_error or "오류 없음").split(" Hint")[0])

_, stale_loss = step_first(hidden=None, epochs=3, clear_first=False)
right_loss, _ = train_digits(5, sgd(0.1), epochs=3, hidden=None)
print(f"한 계층: 세 에폭 뒤 손실 {stale_loss:.3f}, 바른 순서는 {right_loss:.3f}")
reveal("01-10")

# %% tags=["folded"]
# 확인: 모델마다 나온 결과와 그 까닭
assert stale_error.startswith("2번째 배치에서")
assert "inplace operation" in stale_error
assert abs(stale_loss - right_loss) < 0.02
assert make_model(seed=5)[2].weight.shape == (10, 32)
assert "[32, 10]" in stale_error
assert "[32, 10]" in error_of(batch_size=20)  # 로짓이라면 [20, 10]이어야 합니다

# %% [markdown]
r"""
`step()`은 매개변수를 제자리(in-place)에서 바꿉니다. 두 계층 모델은 $\tanh(x W_1)\, W_2$입니다. $W_1$의 그레이디언트를 구하려면 연쇄 법칙에 따라 $W_2$를 곱해야 하는데, 그 $W_2$를 `step()`이 이미 바꾸었습니다. 계산을 기록해 두고 미분하는 PyTorch의 autograd는 순전파 때 저장해 둔 텐서의 버전 번호(오류 메시지의 `version`)가 달라진 것을 보고 멈춥니다. 메시지의 `[32, 10]`은 은닉 32개와 클래스 10개를 잇는 $W_2$의 모양입니다. `nn.Linear(32, 10)`은 가중치를 `[10, 32]`로 들고 있다가 전치(transpose)해서 곱합니다. 배치가 32개라 로짓의 모양과 우연히 같지만, 배치를 20개로 바꾸어도 메시지에는 그대로 `[32, 10]`이 나옵니다. 첫 배치에서는 `.grad`가 비어 있어 `step()`이 아무것도 바꾸지 않았으므로 멈추지 않습니다. 120가지 순서 실험에서 「backward에서 멈춤」이 나온 까닭도 이것입니다.

한 계층 모델은 역전파에 가중치가 필요 없습니다. 입력의 그레이디언트를 구하지 않기 때문입니다. 그래서 오류 없이 한 배치 늦은 그레이디언트로 학습하고, 손실만 보아서는 바른 순서와 구별되지 않습니다.

이 실험에서 `step()`을 순전파와 역전파 사이에 두고도 학습한 것은, 계층이 하나이고 지우는 줄까지 옮긴 루프뿐입니다. 다섯 줄에서 4번과 5번만 맞바꾸면 아무것도 학습하지 않습니다.
"""

# %% [markdown]
r"""
## 4. `.grad`가 있는 곳과 세 가지 스위치

약 15분 · ★★☆

### 4.1 그레이디언트는 어디에 있을까요

그레이디언트는 옵티마이저가 아니라 매개변수에 있습니다. 매개변수마다 `.grad`가 하나씩 달려 있고, 옵티마이저는 매개변수를 가리키기만 합니다. `opt.zero_grad()`는 가리키는 매개변수의 `.grad`를 지웁니다. 모델과 옵티마이저 사이에 다른 연결은 없습니다.
"""

# %%
model = make_model(seed=9)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
xb, yb = make_batches(seed=9)[0]

print("같은 텐서:", opt.param_groups[0]["params"][0] is model[0].weight)
print("학습률:", opt.param_groups[0]["lr"])
print("backward 전의 .grad:", model[0].weight.grad)
loss_fn(model(xb), yb).backward()
print("backward 뒤의 .grad:", tuple(model[0].weight.grad.shape))
print("step 전의 상태:", dict(opt.state))
opt.step()
print("step 뒤의 상태:", list(opt.state[model[0].weight]))
opt.zero_grad()
print("zero_grad 뒤의 .grad:", model[0].weight.grad)

# %% tags=["folded"]
# 확인: 옵티마이저가 든 것은 복사본이 아니라 바로 그 텐서이고, 지운 .grad는 None입니다
assert opt.param_groups[0]["params"][0] is model[0].weight
assert list(opt.state[model[0].weight]) == ["momentum_buffer"]
assert model[0].weight.grad is None

# %% [markdown]
r"""
`step()`이 읽는 것은 네 가지입니다. 매개변수의 지금 값, `.grad`, `param_groups`의 학습률 같은 설정, 그리고 `state`(모멘텀의 $v$처럼 옵티마이저가 적어 두는 값)입니다. 손실도, 모델의 구조도, 데이터도 읽지 않습니다.

PyTorch 2.0부터 `zero_grad()`는 `.grad`를 0으로 채우지 않고 `None`으로 바꿉니다. 예전처럼 0으로 채우려면 `zero_grad(set_to_none=False)`라고 씁니다. 어느 쪽이든 업데이트는 같을까요?

**예측 11.** 출력 계층(head)이 A와 B 둘인 모델을 20스텝 함께 학습한 다음, 50스텝은 A만 씁니다. 그레이디언트는 늘 0으로 채워 지웁니다. A만 쓰는 50스텝 동안 B의 가중치를 움직이는 옵티마이저는 무엇일까요?

- a: 없습니다. 그레이디언트가 0이니 움직일 수 없습니다.
- b: 모멘텀이나 가중치 감쇠가 있는 것들입니다.
- c: 모멘텀이 없는 SGD까지 모두입니다. `step()`을 불렀기 때문입니다.
"""

# %% tags=["predict"]
predict("01-11")


# %%
def idle_head_moved(make_opt, *, set_to_none):
    """쓰이지 않는 50스텝 동안 출력 계층 B의 가중치가 가장 많이 움직인 거리입니다."""
    torch.manual_seed(10)
    body, head_a, head_b = (
        nn.Linear(64, 32).to(device),
        nn.Linear(32, 10).to(device),
        nn.Linear(32, 10).to(device),
    )
    opt = make_opt([*body.parameters(), *head_a.parameters(), *head_b.parameters()])
    for step, (xb, yb) in enumerate(make_batches(seed=10, epochs=2)[:70]):
        if step == 20:
            before = head_b.weight.detach().clone()
        opt.zero_grad(set_to_none=set_to_none)
        features = torch.tanh(body(xb))
        loss = loss_fn(head_a(features), yb)
        if step < 20:
            loss = loss + loss_fn(head_b(features), yb)
        loss.backward()
        opt.step()
    return (head_b.weight - before).abs().max().item()


# %%
OPTIMIZERS = {
    "SGD 0.1": sgd(0.1),
    "SGD 0.1 + 모멘텀 0.9": sgd(0.1, momentum=0.9),
    "SGD 0.1 + 가중치 감쇠 0.01": lambda params: torch.optim.SGD(params, lr=0.1, weight_decay=0.01),
    "AdamW 0.01": lambda params: torch.optim.AdamW(params, lr=0.01),
}
idle = {
    name: [idle_head_moved(make, set_to_none=True), idle_head_moved(make, set_to_none=False)]
    for name, make in OPTIMIZERS.items()
}
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

### 4.2 학습 모드, `requires_grad`, `no_grad`

어떤 계층은 학습할 때와 평가할 때 다르게 동작합니다. 드롭아웃(dropout)은 학습할 때 값의 일부를 무작위로 0으로 만들고, 평가할 때는 아무것도 하지 않습니다. 배치 정규화(batch normalization)는 학습할 때 그 배치의 평균과 분산으로 값을 고르게 맞추면서 이동 통계량(running statistics)에 조금씩 적어 두고, 평가할 때는 적어 둔 값을 씁니다. 학습 모드(train mode)와 평가 모드(evaluation mode)는 `model.train()`과 `model.eval()`로 바꿉니다.

스위치는 둘 더 있습니다. 매개변수의 `requires_grad`와 `torch.no_grad()` 블록입니다. 함께 쓰는 일이 많아 셋을 혼동하기 쉽습니다. 하나씩 바꾸어 무엇이 달라지는지 봅니다.

**예측 12.** `model.eval()`만 부르고 순전파합니다. 무슨 일이 생길까요?

- a: 드롭아웃이 꺼집니다. 계산 그래프는 그대로 만들어지고, 역전파도 할 수 있습니다.
- b: 드롭아웃이 꺼지고, 계산 그래프도 만들어지지 않습니다. 평가에는 필요 없기 때문입니다.
- c: 드롭아웃이 꺼집니다. 계산 그래프는 만들어지지만, 평가 모드라서 `backward()`가 오류를 냅니다.
"""

# %% tags=["predict"]
predict("01-12")


# %%
def observe(*, train_mode, frozen, no_grad):
    """스위치 세 개를 놓고 순전파해서, 실제로 달라진 것을 봅니다."""
    torch.manual_seed(8)
    model = nn.Sequential(
        nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10)
    ).to(device)
    model.train(train_mode)
    model.requires_grad_(not frozen)
    statistics = model[1].running_mean.clone()
    with torch.set_grad_enabled(not no_grad):
        first, second = model(x_train[:32]), model(x_train[:32])
    return {
        "드롭아웃이 작동": not torch.equal(first, second),
        "이동 통계량이 바뀜": not torch.equal(statistics, model[1].running_mean),
        "계산 그래프를 만듦": first.grad_fn is not None,
    }


# %%
seen = {
    "`train()`": observe(train_mode=True, frozen=False, no_grad=False),
    "`eval()`": observe(train_mode=False, frozen=False, no_grad=False),
    "`train()` + `no_grad()`": observe(train_mode=True, frozen=False, no_grad=True),
    "`eval()` + `no_grad()`": observe(train_mode=False, frozen=False, no_grad=True),
    "`train()` + `requires_grad_(False)`": observe(train_mode=True, frozen=True, no_grad=False),
}
show_table(
    ["스위치", *next(iter(seen.values()))],
    [[name, *("예" if value else "아니요" for value in row.values())] for name, row in seen.items()],
)
reveal("01-12")

# %% tags=["folded"]
# 확인: 스위치마다 달라진 것과, 평가 모드에서 역전파하고 업데이트한 결과
assert [list(row.values()) for row in seen.values()] == [
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

실험 표의 셋째 줄과 마지막 줄을 보세요. `no_grad()`만 쓰고 평가하면 **평가 데이터가 배치 정규화의 이동 통계량을 바꿉니다.** `requires_grad_(False)`로 매개변수를 고정해도 통계량은 고정되지 않습니다.
"""

# %% [markdown]
r"""
## 5. 그레이디언트 누적: 지우기를 일부러 미룹니다

약 30분 · ★★★

배치 64가 메모리에 들어가지 않으면 16짜리 마이크로 배치(micro-batch) 네 개로 나눕니다. 순전파와 역전파를 네 번 하고 업데이트는 한 번 합니다. 유효 배치 크기(effective batch size)는 64입니다. `backward()`가 더하기 때문에 가능합니다. 업데이트 한 번에 쓰는 마이크로 배치들을 여기서는 한 구간(window)이라고 부르겠습니다.

### 5.1 왜 같을까요

크기가 $B$인 마이크로 배치 $N$개의 구간에서, 샘플 $i$의 손실을 $\ell_i$라고 하면 큰 배치의 평균 손실은 이렇습니다.

$$
L = \frac{1}{NB}\sum_{i=1}^{NB} \ell_i
  = \sum_{k=1}^{N} \frac{1}{N}\underbrace{\Big(\frac{1}{B}\sum_{i \in \text{배치 } k}\ell_i\Big)}_{L_k}
\qquad\Longrightarrow\qquad
\nabla L = \sum_{k=1}^{N} \nabla\Big(\frac{L_k}{N}\Big)
$$

오른쪽 식이 그대로 코드가 됩니다. `loss / N`의 `backward()`를 $N$번 부르면 `p.grad`에는 $\nabla L$이 쌓입니다. $N$으로 나누지 않으면 $N$배 큰 그레이디언트가 됩니다.

이 식은 다음 네 조건에서만 성립합니다.

1. 손실은 샘플마다의 손실을 모두 더해 **구간 전체의 샘플 수로** 나눈 값입니다.
2. 한 샘플을 계산할 때 배치 안의 다른 샘플을 보는 계층(배치 정규화)이 없습니다.
3. 드롭아웃처럼 무작위로 0을 만드는 계층이 있으면, 0이 되는 자리가 같습니다.
4. 반올림이 없습니다.

네 번째는 종이 위에서는 언제나 맞습니다. 컴퓨터의 수는 유효 숫자가 정해져 있습니다. float64는 열여섯 자리, float32는 일곱 자리쯤이고, 16비트인 bfloat16은 그보다 짧습니다. PyTorch의 autocast는 순전파 가운데 행렬곱 같은 연산을 그런 낮은 정밀도로 계산합니다. 두 그레이디언트가 얼마나 다른지는 상대 오차로 잽니다. 차이의 노름을 기준(여기서는 큰 배치)의 노름으로 나눈 값입니다.

**예측 13.** float32에서 16짜리 네 개를 누적한 그레이디언트와 64짜리 한 개의 그레이디언트는 상대 오차로 얼마나 다를까요? bfloat16 autocast에서는 어떨까요?

- a: 둘 다 $10^{-7}$쯤입니다. autocast에서도 `p.grad`는 float32이기 때문입니다.
- b: float32는 $10^{-7}$쯤, bfloat16은 $10^{-5}$쯤입니다.
- c: float32는 $10^{-7}$쯤, bfloat16은 $10^{-3}$쯤입니다.
"""

# %% tags=["predict"]
predict("01-13")


# %%
def window_gradient(model, window, weights, *, mask_seed=0, autocast=False, clip=None):
    """손실마다 weight를 곱해 backward를 부르고, 쌓인 그레이디언트를 한 줄로 돌려줍니다."""
    model.zero_grad()
    torch.manual_seed(mask_seed)
    for (xb, yb), weight in zip(window, weights, strict=True):
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            loss = loss_fn(model(xb), yb) * weight
        loss.backward()
        if clip == "마이크로 배치마다":
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
    if clip == "구간마다":
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
    return flat(p.grad for p in model.parameters())


# %% tags=["folded"]
# 준비: 배치 나누기, 상대 오차, 누적한 그레이디언트와 큰 배치의 그레이디언트 비교, 작은 모델
def cut(xb, yb, sizes):
    """배치 하나를 sizes대로 나눕니다."""
    return list(zip(xb.split(sizes), yb.split(sizes), strict=True))


def relative_error(vector, reference):
    return ((vector - reference).norm() / reference.norm()).item()


def compare(
    make, sizes=(16, 16, 16, 16), weights=None, *, dtype=torch.float64, other_mask=0, clip=None, **kwargs
):
    """누적한 그레이디언트와 큰 배치의 그레이디언트의 상대 오차입니다. 시드 20개의 중앙값입니다."""
    weights = weights or [1 / len(sizes)] * len(sizes)
    errors = []
    for seed in range(20):
        torch.manual_seed(seed)
        model = make().to(device, dtype)
        xb, yb = make_batches(seed, batch_size=sum(sizes))[0]
        xb = xb.to(dtype)
        big = window_gradient(model, [(xb, yb)], [1.0], clip=clip and "구간마다", **kwargs)
        small = window_gradient(
            model, cut(xb, yb, list(sizes)), weights, mask_seed=other_mask, clip=clip, **kwargs
        )
        errors.append(relative_error(small, big))
    return median(errors)


def mlp(*middle):
    """64 → 64 → 10 모델입니다. middle을 가운데에 끼웁니다."""
    return lambda: nn.Sequential(nn.Linear(64, 64), *middle, nn.Linear(64, 10))


# %%
precision = {
    "float64": compare(mlp(nn.Tanh())),
    "float32": compare(mlp(nn.Tanh()), dtype=torch.float32),
    "bfloat16 autocast": compare(mlp(nn.Tanh()), dtype=torch.float32, autocast=True),
    "1/4을 빠뜨림 (float64)": compare(mlp(nn.Tanh()), weights=[1.0] * 4),
}
show_table(
    ["4 × 16 누적과 64 한 번", "그레이디언트의 상대 오차"], [[k, f"{v:.1e}"] for k, v in precision.items()]
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
1/4을 빠뜨린 그레이디언트는 네 배입니다. 큰 배치와의 차이가 큰 배치의 세 배이므로 상대 오차가 3입니다. float32의 차이는 더하는 순서가 달라서 생깁니다. bfloat16의 차이도 그럴까요? 같은 마이크로 배치를 순서만 바꾸어 누적해 보고, 매개변수의 그레이디언트만 반올림하지 않고 모아 봅니다.
"""


# %% tags=["folded"]
# 표: bfloat16의 차이가 어디에서 오는지 시드 20개로 잽니다
def unrounded_gradient(model, window, weights):
    """bfloat16으로 순전파하고 역전파하되, 매개변수의 그레이디언트만은 반올림하지 않고 float64로 모읍니다."""
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    sums = dict.fromkeys(linears, 0.0)

    def remember(layer, inputs, output):
        entered = inputs[0].detach().bfloat16().double()

        def add(grad):
            left = grad.double()
            sums[layer] = sums[layer] + torch.cat([(left.T @ entered).flatten(), left.sum(dim=0)])

        output.register_hook(add)

    hooks = [layer.register_forward_hook(remember) for layer in linears]
    window_gradient(model, window, weights, autocast=True)
    for hook in hooks:
        hook.remove()
    return torch.cat([sums[layer] for layer in linears])


found = {
    "bfloat16 누적과 bfloat16 큰 배치": [],
    "bfloat16 누적에서 마이크로 배치의 순서만 바꿈": [],
    "위의 첫 줄에서 매개변수의 그레이디언트만 반올림하지 않음": [],
    "bfloat16 누적과 float32 큰 배치": [],
    "bfloat16 큰 배치와 float32 큰 배치": [],
}
for seed in range(20):
    torch.manual_seed(seed)
    model = mlp(nn.Tanh())().to(device)
    one = [make_batches(seed, batch_size=64)[0]]
    four, equal = cut(*one[0], [16] * 4), [1 / 4] * 4
    exact = window_gradient(model, one, [1.0])
    big = window_gradient(model, one, [1.0], autocast=True)
    small = window_gradient(model, four, equal, autocast=True)
    turned = max(
        relative_error(window_gradient(model, list(other), equal, autocast=True), small)
        for other in permutations(four)
    )
    unrounded = relative_error(unrounded_gradient(model, four, equal), unrounded_gradient(model, one, [1.0]))
    errors = [
        relative_error(small, big),
        turned,
        unrounded,
        relative_error(small, exact),
        relative_error(big, exact),
    ]
    for values, error in zip(found.values(), errors, strict=True):
        values.append(error)
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
마이크로 배치의 순서를 바꾸어도 bfloat16의 결과는 그대로입니다. 차이는 **마이크로 배치마다 그레이디언트를 반올림하는 데서** 옵니다. autocast에서는 매개변수의 그레이디언트를 bfloat16으로 반올림한 다음 float32인 `p.grad`에 더합니다. 큰 배치는 한 번, 누적은 네 번 반올림합니다. bfloat16의 유효 숫자는 두세 자리뿐이라 이 반올림이 $10^{-3}$쯤의 차이를 냅니다. 이 반올림만 없애면 둘은 다시 같아집니다. 그렇다고 누적이 더 부정확한 것은 아닙니다. float32로 구한 그레이디언트에서 재면 둘은 비슷하게 떨어져 있습니다.

### 몸풀기. `add_gradient`

약 10분 · ★☆☆

누적 루프를 쓰기 전에, 그 안에서 되풀이할 한 번을 먼저 씁니다. 마이크로 배치 하나의 평균 손실에서 그레이디언트를 구하고, `weight`를 곱해 매개변수마다 `.grad`에 더합니다. 이미 있던 그레이디언트는 그대로 둡니다. 지우지도 업데이트하지도 않고, 모드도 바꾸지 않습니다. 고정한(`requires_grad=False`) 매개변수와 손실이 닿지 않는 매개변수가 있을 수도 있습니다. 그런 매개변수의 `.grad`는 건드리지 않으므로 `None`이었으면 `None`입니다. 순전파는 한 번만 합니다. 돌려줄 값은 `weight`를 곱하기 **전의** 손실입니다. 이 문제는 점수에 들어가지 않습니다.
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
### 연습 3. `accumulate`

약 35분 · ★★★

그레이디언트 누적은 방금 쓴 것을 반복문에 넣은 것입니다. 한 구간에 마이크로 배치가 $N$개이면 `weight`를 $1/N$로 하여 $N$번 더하고, 한 번 업데이트하고, 지웁니다. `add_gradient`를 불러 써도 되고, 그 줄들을 반복문 안에 다시 써도 됩니다. 반복문에는 정해야 할 것이 세 가지 있습니다.

- **언제 업데이트할까요?** 마이크로 배치 `accum_steps`개를 다 쌓은 다음입니다. 세기 시작하는 수가 0인지 1인지에서 많이 틀립니다.
- **남은 구간은 어떻게 할까요?** 마이크로 배치 열 개를 네 개씩 묶으면 두 개가 남습니다. 그 두 개도 업데이트해야 하고, 4가 아니라 2로 나누어야 평균입니다.
- **언제 클리핑할까요?** 구간이 다 쌓인 뒤 한 번입니다. 마이크로 배치마다 클리핑하면 얼마나 달라지는지는 연습 다음에 잽니다.

`micro_batches`는 제너레이터일 수 있습니다. `len()`을 쓸 수 없으니 남은 구간의 길이를 미리 알려면 한 구간을 먼저 모으거나 한 개를 미리 꺼내 보아야 합니다. 한 구간의 입력을 들고 있는 것은 괜찮습니다. 계산 그래프는 다릅니다. 여럿을 함께 들고 있으면 큰 배치만큼 메모리가 들어 누적하는 뜻이 없어지므로, 마이크로 배치마다 `backward()`를 불러 바로 놓아줍니다. 마이크로 배치가 하나도 없으면 업데이트하지 않고 0을 돌려줍니다.
"""


# %% tags=["exercise:accumulate"]
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    """마이크로 배치 accum_steps개(한 구간)마다 한 번 업데이트하고, 업데이트한 횟수를 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(len()이 없습니다).
    accum_steps: 한 구간의 마이크로 배치 수입니다. 1보다 작으면 ValueError를 냅니다.
    max_norm: None이 아니면 구간마다 한 번 줄입니다. 0.0도 값입니다.

    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    마지막 구간이 짧으면 그 구간에 실제로 있는 마이크로 배치 수로 평균을 냅니다.
    부르기 전에는 .grad가 비어 있습니다. 끝나면 그레이디언트를 남기지 않습니다.
    """
    # BEGIN SOLUTION
    from itertools import islice

    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 합니다: {accum_steps}")

    stream = iter(micro_batches)
    num_steps = 0
    opt.zero_grad()
    # 한 구간씩 꺼냅니다. 마지막 구간은 짧을 수 있습니다
    while window := list(islice(stream, accum_steps)):
        for xb, yb in window:
            logits = model(xb)
            # 실제 개수로 나누어, 더한 그레이디언트가 구간 평균이 되게 합니다
            loss = loss_fn(logits, yb) / len(window)
            loss.backward()
        # 구간이 다 쌓인 뒤 한 번만 줄이고, 한 번만 업데이트합니다
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        num_steps += 1
    return num_steps
    # END SOLUTION


# %% tags=["check"]
check(accumulate)

# %% [markdown]
r"""
### 5.2 조건을 하나씩 깨 봅니다

모두 float64로 재므로 $10^{-15}$쯤이면 같은 것이고, 그보다 크면 반올림 탓이 아닙니다.

**예측 14.** 드롭아웃이 있는 모델입니다. 큰 배치를 시작할 때와 누적 구간을 시작할 때, 시드를 같은 값으로 한 번씩 맞춥니다. 이 컴퓨터에서 두 그레이디언트는 같을까요?

- a: 드롭아웃 계층이 하나이면 같고, 둘이면 다릅니다.
- b: 하나이든 둘이든 다릅니다. 마스크의 크기가 16과 64로 다르기 때문입니다.
- c: 하나이든 둘이든 같습니다. 시드를 맞추었기 때문입니다.
"""

# %% tags=["predict"]
predict("01-14")

# %%
one_dropout = mlp(nn.Tanh(), nn.Dropout(0.3))
two_dropouts = mlp(nn.Tanh(), nn.Dropout(0.3), nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.3))
uneven = (28, 20, 12, 4)

cases = {
    "ReLU": compare(mlp(nn.ReLU())),
    "LayerNorm": compare(mlp(nn.LayerNorm(64), nn.Tanh())),
    "배치 정규화, 학습 모드": compare(mlp(nn.BatchNorm1d(64), nn.Tanh())),
    "드롭아웃 1개, 같은 시드": compare(one_dropout),
    "드롭아웃 1개, 다른 시드": compare(one_dropout, other_mask=1),
    "드롭아웃 2개, 같은 시드": compare(two_dropouts),
    "크기 28·20·12·4, 1/4씩": compare(mlp(nn.Tanh()), uneven),
    "크기 28·20·12·4, 샘플 수로 가중": compare(mlp(nn.Tanh()), uneven, [n / 64 for n in uneven]),
    "남은 구간 2개를 1/4씩": compare(mlp(nn.Tanh()), (16, 16), [1 / 4, 1 / 4]),
    "남은 구간 2개를 1/2씩": compare(mlp(nn.Tanh()), (16, 16), [1 / 2, 1 / 2]),
    "클리핑을 구간마다 한 번": compare(mlp(nn.Tanh()), clip="구간마다"),
    "클리핑을 마이크로 배치마다": compare(mlp(nn.Tanh()), clip="마이크로 배치마다"),
}
show_table(
    ["조건 (float64)", "상대 오차", "같음"],
    [[name, f"{error:.1e}", "예" if error < 1e-12 else "아니요"] for name, error in cases.items()],
)

# %% tags=["folded"]
# 이 컴퓨터는 원소마다 난수를 순서대로 하나씩 뽑는지: 16개짜리 마스크 네 개와 64개짜리 하나를 비교합니다
torch.manual_seed(0)
whole_mask = F.dropout(torch.ones(64, 64, device=device), 0.3)
torch.manual_seed(0)
mask_parts = torch.cat([F.dropout(torch.ones(16, 64, device=device), 0.3) for _ in range(4)])
draws_in_turn = torch.equal(whole_mask, mask_parts)
print("이 컴퓨터의 드롭아웃이 난수를 순서대로 뽑는지:", "예" if draws_in_turn else "아니요")

one_same = cases["드롭아웃 1개, 같은 시드"] < 1e-12
two_same = cases["드롭아웃 2개, 같은 시드"] < 1e-12
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
if draws_in_turn:
    assert cases["드롭아웃 1개, 같은 시드"] < 1e-14
else:
    assert cases["드롭아웃 1개, 같은 시드"] > 0.2

# 배치 정규화는 순전파마다 이동 통계량을 바꿉니다: 업데이트 한 번에 네 번입니다
batch_norm = nn.BatchNorm1d(64).to(device)
model = nn.Sequential(nn.Linear(64, 64), batch_norm, nn.Linear(64, 10)).to(device)
window_gradient(model, cut(*make_batches(0, batch_size=64)[0], [16] * 4), [1 / 4] * 4)
assert batch_norm.num_batches_tracked.item() == 4

# %% [markdown]
r"""
하나씩 까닭을 보겠습니다.

- **배치 정규화:** 64개로 구한 평균과 16개로 구한 평균은 다릅니다. 조건 2가 깨집니다. 이동 통계량도 업데이트 한 번에 네 번 바뀝니다. 누적으로는 고칠 수 없고, LayerNorm처럼 샘플 하나만 보는 정규화를 쓰면 됩니다.
- **드롭아웃:** 원소마다 난수를 순서대로 하나씩 뽑는 컴퓨터에서는 16개짜리 마스크 네 개를 이으면 64개짜리 마스크 하나와 같습니다. 이 강의를 만들 때 쓴 AMD CPU가 그렇습니다. 드롭아웃 계층이 둘이면 첫 마이크로 배치가 두 번째 계층의 난수까지 뽑고 나서 다음으로 가므로 어긋납니다. 계층이 하나여도 어긋나는 컴퓨터가 있습니다. GPU에서는 스레드마다 난수열이 따로 있고, 드롭아웃을 호출할 때마다 모든 난수열이 앞으로 나아갑니다. 그래서 16개짜리 네 개를 이어도 64개짜리 하나와 같지 않습니다(H100에서 확인했습니다). Intel CPU에서는 호출마다 새 시드로 난수열을 시작합니다([PyTorch 소스](https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cpu/DistributionKernels.cpp)). 여러분의 컴퓨터가 어느 쪽인지는 표 아래에 나왔습니다. 다만 마스크는 어차피 무작위이므로, 달라졌다고 해서 학습이 잘못된 것은 아닙니다.
- **크기가 다른 마이크로 배치:** 평균들의 평균은 전체 평균이 아닙니다. 샘플 수로 가중하면 다시 같아집니다. 언어 모델에서는 샘플 수 자리에 토큰 수가 옵니다. 2024년 가을까지 여러 라이브러리가 이 버그를 안고 있었습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)).
- **남은 구간:** 남은 두 개를 4로 나누면 마지막 업데이트가 절반이 됩니다. 아예 건너뛰는 코드도 흔합니다. 그러면 남은 그레이디언트는 버려지거나, 지워지지 않은 채 다음 에폭의 첫 구간에 섞입니다.
- **클리핑:** 마이크로 배치마다 클리핑하면 지금까지 쌓인 것까지 함께 줄어듭니다. 구간이 끝난 뒤 한 번만 클리핑하면 큰 배치와 같습니다.

### 5.3 AdamW와 bfloat16

누적 루프가 맞는지 시험할 때, 옵티마이저는 AdamW로 두고 학습할 때처럼 autocast를 켜도 될까요?

**예측 15.** AdamW로 한 스텝 업데이트하고, 같은 정밀도에서 큰 배치로 업데이트한 가중치와 비교합니다. 매개변수마다 차이를 구하고 그 최댓값을 보면, 어느 쪽이 더 클까요?

- a: 바른 누적, bfloat16 autocast
- b: 1/4을 빠뜨린 누적, float32
- c: 둘이 비슷합니다.
"""

# %% tags=["predict"]
predict("01-15")


# %%
def adamw_weights(sizes, weights, *, autocast, seed):
    """AdamW로 한 번 업데이트한 가중치입니다."""
    torch.manual_seed(seed)
    model = mlp(nn.Tanh())().to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    xb, yb = make_batches(seed, batch_size=64)[0]
    window_gradient(model, cut(xb, yb, list(sizes)), weights, autocast=autocast)
    opt.step()
    return flat(model.parameters())


def adamw_difference(weights, *, autocast):
    """누적한 업데이트와 큰 배치의 업데이트가 가장 많이 다른 매개변수의 차이입니다. 시드 10개의 중앙값입니다."""
    distances = []
    for seed in range(10):
        big = adamw_weights([64], [1.0], autocast=autocast, seed=seed)
        small = adamw_weights([16] * 4, weights, autocast=autocast, seed=seed)
        distances.append((small - big).abs().max().item())
    return median(distances)


# %%
right_bf16 = adamw_difference([1 / 4] * 4, autocast=True)
wrong_fp32 = adamw_difference([1.0] * 4, autocast=False)
show_table(
    ["AdamW, 학습률 0.001, 한 스텝", "큰 배치와의 최대 차이"],
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
그레이디언트의 차이가 작다고 해서 업데이트의 차이도 작은 것은 아닙니다. AdamW의 첫 업데이트는 $\eta\, g/(|g| + \epsilon)$에 가깝습니다. 그레이디언트의 크기를 나누어 없애고 거의 부호만 남깁니다. 0에 가까운 그레이디언트의 부호가 반올림 때문에 바뀌면, 업데이트는 학습률의 두 배 가까이 달라집니다. 1/4을 빠뜨린 진짜 버그는 크기만 바꾸므로 거의 드러나지 않습니다. 그래서 누적 루프가 맞는지 시험할 때는 AdamW나 낮은 정밀도를 쓰지 않습니다. **SGD와 float64로 시험하고, 확인이 끝난 루프를 원하는 설정으로 돌리세요.** 이 강의의 채점기도 틀린 누적을 SGD와 float64로 가려냅니다. AdamW는 모든 것을 함께 돌리는 검사 하나에만, 역시 float64로 씁니다.

### 5.4 누적의 비용

**예측 16.** 큰 배치 하나를 넷으로 나누어 누적합니다. 무엇이 줄어들까요?

- a: 계산 시간과 메모리가 모두 4분의 1쯤으로 줄어듭니다.
- b: 역전파를 위해 저장하는 텐서의 메모리만 줄어듭니다.
- c: 계산 시간만 줄어듭니다. 한 번에 계산하는 양이 작기 때문입니다.
"""

# %% tags=["predict"]
predict("01-16")


# %% tags=["folded"]
# 준비: 메모리를 재는 함수, 큰 모델과 배치
def peak_saved_bytes(model, run):
    """run()을 실행하는 동안 역전파를 위해 저장된 텐서의 최대 바이트입니다. 매개변수는 세지 않습니다."""
    parameters = {p.data_ptr() for p in model.parameters()}
    holders = {}  # 메모리 주소 -> 그 텐서를 저장하고 있는 수
    now = peak = 0

    class Saved:
        def __init__(self, tensor):
            nonlocal now, peak
            self.tensor, self.key = tensor, tensor.data_ptr()
            self.bytes = tensor.numel() * tensor.element_size()
            if self.key in parameters:
                return
            holders[self.key] = holders.get(self.key, 0) + 1
            if holders[self.key] == 1:
                now += self.bytes
                peak = max(peak, now)

        def __del__(self):
            nonlocal now
            if self.key in parameters:
                return
            holders[self.key] -= 1
            if holders[self.key] == 0:
                now -= self.bytes

    with torch.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
        run()
    return peak


def wide_setup(batch_size, width):
    torch.manual_seed(6)
    model = nn.Sequential(
        nn.Linear(64, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)
    ).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = torch.arange(batch_size, device=device) % len(x_train)
    return model, opt, x_train[rows], y_train[rows]


# %%
def one_update(model, opt, window, *, backward_each=True):
    """한 구간을 누적해 한 번 업데이트합니다. backward_each=False이면 손실을 모았다가 끝에 한 번만 부릅니다."""
    opt.zero_grad()
    total = 0.0
    for xb, yb in window:
        loss = loss_fn(model(xb), yb) / len(window)
        if backward_each:
            loss.backward()
        else:
            total = total + loss
    if not backward_each:
        total.backward()
    opt.step()


# %%
model, opt, xb, yb = wide_setup(batch_size=1024, width=512)
windows = {
    "1024 한 번": [(xb, yb)],
    "256 × 4 누적": cut(xb, yb, 256),
    "64 × 16 누적": cut(xb, yb, 64),
}
memory = {
    name: peak_saved_bytes(model, lambda window=window: one_update(model, opt, window))
    for name, window in windows.items()
}
memory["256 × 4, backward는 끝에 한 번"] = peak_saved_bytes(
    model, lambda: one_update(model, opt, windows["256 × 4 누적"], backward_each=False)
)
full = memory["1024 한 번"]
show_table(
    ["저장한 텐서", "최대 MiB", "큰 배치에 대한 비"],
    [[name, f"{size / 2**20:.2f}", f"{size / full:.2f}"] for name, size in memory.items()],
)
reveal("01-16")

# %% tags=["folded"]
# 확인: 저장한 텐서의 비
assert 0.2 < memory["256 × 4 누적"] / full < 0.3
assert 0.05 < memory["64 × 16 누적"] / full < 0.08
assert memory["256 × 4, backward는 끝에 한 번"] / full > 0.95


# %% tags=["folded"]
# 준비: 시간을 재는 함수
def clock():
    """CPU에서는 다른 프로그램에 덜 흔들리는 CPU 시간을, GPU에서는 끝나기를 기다려 실제로 흐른 시간을 잽니다."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def time_ratios(batch_size, width, repeats, rounds=5):
    """큰 배치 한 번을 1로 놓은 시간입니다. 번갈아 재어 가장 짧은 값을 씁니다."""
    model, opt, xb, yb = wide_setup(batch_size, width)
    quarter, sixteenth = cut(xb, yb, batch_size // 4), cut(xb, yb, batch_size // 16)
    jobs = {
        "큰 배치 한 번": lambda: one_update(model, opt, [(xb, yb)]),
        "4번 누적": lambda: one_update(model, opt, quarter),
        "16번 누적": lambda: one_update(model, opt, sixteenth),
        "나누어 4번 업데이트": lambda: [one_update(model, opt, [batch]) for batch in quarter],
    }
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = clock()
            for _ in range(repeats):
                job()
            best[name] = min(best[name], clock() - begin)
    return {name: seconds / best["큰 배치 한 번"] for name, seconds in best.items()}


# %%
ratios = {
    "작은 일: 배치 64, 너비 64": time_ratios(64, 64, repeats=20),
    "큰 일: 배치 1024, 너비 512": time_ratios(1024, 512, repeats=1),
}
show_table(
    ["걸린 시간의 비", *next(iter(ratios.values()))],
    [[name, *(f"{ratio:.2f}배" for ratio in row.values())] for name, row in ratios.items()],
)

# %% tags=["folded"]
# 확인: 걸린 시간의 비
if on_cpu:  # 넉넉한 경계입니다: 다른 일을 하는 컴퓨터에서도 성립해야 합니다
    small, large = ratios.values()
    assert small["4번 누적"] > 1.2
    assert small["16번 누적"] > 2
    assert 0.5 < large["4번 누적"] < 2.0
    assert small["4번 누적"] < small["나누어 4번 업데이트"]

# %% [markdown]
r"""
누적은 계산을 아끼지 않습니다. 같은 수의 샘플을 순전파하고 역전파합니다. 계산이 크면 걸리는 시간이 큰 배치와 비슷하고, 작으면 호출 비용 때문에 더 느립니다. 마이크로 배치마다 업데이트하는 것과 비교하면 옵티마이저가 하는 일만 줄어듭니다.

아끼는 것은 **역전파를 위해 저장하는 텐서**입니다. 마이크로 배치의 `backward()`가 끝날 때마다 그 그래프가 풀리기 때문입니다. 그래서 손실을 모았다가 끝에 한 번 `backward()`를 부르면 값은 맞지만 메모리는 그대로입니다. 매개변수, 그레이디언트, 옵티마이저의 상태는 어떻게 해도 줄지 않습니다.
"""

# %% [markdown]
r"""
## 6. 한 스텝에서 한 에폭으로

약 10분 · ★☆☆

### 6.1 에폭의 손실을 어떻게 평균 낼까요

한 에폭의 학습 손실은 보통 배치 손실을 모아 평균 냅니다.

**예측 17.** 샘플 129개를 64개씩 나누면 64, 64, 1이 됩니다. 배치 손실 세 개를 그냥 평균 내면 마지막 샘플 하나의 몫은 다른 샘플의 몇 배일까요?

- a: 같습니다.
- b: 3배
- c: 64배
"""

# %% tags=["predict"]
predict("01-17")

# %%
model = make_model(seed=7)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for xb, yb in make_batches(seed=7, epochs=3):
    opt.zero_grad()
    loss_fn(model(xb), yb).backward()
    opt.step()

with torch.no_grad():
    # 검증 데이터에서 129개를 고르고, 가장 어려운 샘플이 마지막 배치에 혼자 오게 둡니다
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
    ["배치 크기", "배치 손실", "샘플 하나의 몫", "그냥 평균", "샘플로 가중한 평균"],
    [
        [
            sizes,
            [round(loss, 2) for loss in batch_losses],
            [round(share, 4) for share in shares],
            f"{mean_of_means:.3f}",
            f"{sample_mean:.3f}",
        ]
    ],
)
reveal("01-17")

# %% tags=["folded"]
# 확인: 샘플 하나의 몫과, 두 평균 가운데 어느 것이 샘플 129개의 평균인지
assert sizes == [64, 64, 1]
assert round(shares[2] / shares[0]) == 64
assert mean_of_means > 1.5 * sample_mean
assert abs(sample_mean - per_sample[rows].mean().item()) < 1e-4

# %% [markdown]
r"""
마지막 배치가 작으면 여기서도 「평균들의 평균」이 됩니다. 차이가 잘 보이도록 가장 어려운 샘플이 마지막 배치에 혼자 오게 했습니다. 모을 때는 `loss.item()`을 씁니다. 까닭은 8절에서 봅니다.

### 연습 4. `fit`

약 20분 · ★★☆

에폭마다 학습 모드로 바꾸고, 배치마다 한 스텝을 하고, 샘플로 가중한 평균 손실을 모읍니다. `zero_grad=False`이면 3절의 발산 실험이 됩니다. 마지막 배치의 손실이 아니라 에폭 전체의 평균이라는 점에 주의하세요.
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
`fit`을 다 썼으면 3절의 실험을 여러분의 함수로 다시 해 보세요. 학습률을 바꾸어 가며, 버그가 이득에서 손해로 넘어가는 곳을 찾아보면 좋습니다.
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
### 6.2 평가

평가도 한 에폭을 도는 일입니다. 다만 매개변수를 바꾸지 않고, 4.2절의 스위치 가운데 둘을 씁니다. 평가 모드와 `no_grad()`입니다.

### 연습 5. `evaluate`

약 20분 · ★★☆

평가 모드에서, 그래프 없이, 샘플 평균 손실과 정확도를 구합니다. 그리고 **함수를 부르기 전의 모드로 되돌립니다.** 일부 모듈만 평가 모드인 모델도 있으니 모듈마다 되돌려야 합니다. 데이터를 읽다가 오류가 나도 되돌려야 합니다. `finally`가 그런 데 쓰입니다. 모든 모듈은 `model.modules()`로 꺼내고, 점수가 가장 큰 클래스의 번호는 `logits.argmax(dim=1)`로 구합니다.
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
## 7. 부품을 열어 봅니다

약 15분 · ★★☆

### 7.1 두 줄을 손으로 써 봅니다

4.1절에서 `.grad`와 옵티마이저가 어떻게 이어져 있는지 보았습니다. 이제 다섯 줄 가운데 첫 줄과 마지막 줄을 직접 씁니다.

### 연습 6. `zero_gradients`와 `sgd_update`

약 15분 · ★★☆

`opt.zero_grad()`와 모멘텀 없는 SGD의 `opt.step()`을 직접 씁니다. 둘 다 몇 줄이면 됩니다. 함정은 세 가지입니다.

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
### 7.2 `backward()`는 무엇을 따라갈까요

순전파를 하면 연산마다 노드가 하나씩 생기고, 결과 텐서의 `grad_fn`이 그 노드를 가리킵니다. 노드의 `next_functions`는 그 연산의 입력을 만든 노드들입니다. `backward()`는 손실의 `grad_fn`에서 출발해 이 화살표를 따라갑니다. 길이 끝나는 곳에 있는 노드의 이름은 `AccumulateGrad`입니다.

**예측 18.** 두 계층 모델(`Linear → Tanh → Linear`)의 손실에서 출발하면 `AccumulateGrad` 노드 몇 개에 닿을까요?

- a: 1개. 손실이 하나이기 때문입니다.
- b: 2개. 계층이 둘이기 때문입니다.
- c: 4개. 매개변수 텐서가 넷이기 때문입니다.
"""

# %% tags=["predict"]
predict("01-18")

# %%
model = make_model(seed=11)
xb, yb = make_batches(seed=11)[0]
loss = loss_fn(model(xb), yb)

# 손실에서 첫 계층까지 한 길만 따라갑니다. 괄호 안은 그 노드에서 갈라지는 길입니다
node, path = loss.grad_fn, []
while node is not None:
    following = [entry for entry, _ in node.next_functions if entry is not None]
    names = [type(entry).__name__ for entry in following]
    path.append(type(node).__name__)
    print(f"{path[-1]:<22} → ({', '.join(names)})")
    onward = [
        entry
        for entry, name in zip(following, names, strict=True)
        if name not in ("AccumulateGrad", "TBackward0")
    ]
    node = onward[0] if onward else None

# %% tags=["folded"]
# 그림: 손실에서 닿는 노드를 모두 그립니다
figure = draw_backward_graph(loss, dict(model.named_parameters()))
boxes = [text.get_text() for text in figure.axes[0].texts]
show(
    figure,
    "손실에서 출발해 오른쪽으로 가는 그래프. NllLoss, LogSoftmax, Addmm, Tanh, Addmm의 역전파 노드가 한 줄로 이어지고, "
    "두 Addmm에서 편향(bias)과 가중치의 AccumulateGrad 네 개가 갈라져 나옵니다.",
)
reveal("01-18")

# %% tags=["folded"]
# 확인: 한 길에서 만난 노드의 차례와, AccumulateGrad의 수
assert path == [
    "NllLossBackward0",
    "LogSoftmaxBackward0",
    "AddmmBackward0",
    "TanhBackward0",
    "AddmmBackward0",
]
assert sum(label.startswith("AccumulateGrad") for label in boxes) == len(list(model.parameters())) == 4

# %% [markdown]
r"""
길의 끝에 있는 `AccumulateGrad`가 `p.grad`에 값을 **더합니다**. 1절에서 본 덧셈이 바로 여기서 일어납니다. 그래서 이 노드는 `.grad`가 달리는 텐서마다 하나씩 있습니다.

입력 `xb`로 가는 길은 없습니다. 그레이디언트가 필요 없는 텐서이므로 `next_functions`의 그 자리에 `None`이 있습니다. 순회할 때 건너뛰어야 합니다.

그래프는 일회용입니다. `backward()`가 지나가면 노드가 저장해 둔 텐서를 놓아 줍니다. 그래서 같은 손실에 `backward()`를 두 번 부르면 오류가 나고, 다음 스텝에는 순전파부터 다시 해야 합니다. 1절에서 순전파를 뺐을 때 본 오류가 이것입니다.

오류를 내는 것은 놓아 준 텐서를 다시 찾는 노드입니다. 저장할 텐서가 없는 계산도 있습니다. 합의 그레이디언트는 값과 상관없이 모두 1이므로 `w.sum()`은 아무 텐서도 저장하지 않고, 두 번 불러도 오류 없이 또 더합니다. 오류가 나지 않았다고 새로 계산한 것은 아닙니다.
"""

# %%
loss.backward()
try:
    loss.backward()
    message = None
except RuntimeError as error:
    message = str(error)
print("모델의 손실:", (message or "오류 없음").split(".")[0])

w = torch.ones(3, requires_grad=True)
total = w.sum()
total.backward()
total.backward()
print("w.sum():", w.grad)

# %% tags=["folded"]
# 확인: 모델의 손실은 두 번째에 멈추고, w.sum()은 두 번 더합니다
assert message is not None
assert "second time" in message
assert w.grad.tolist() == [2.0, 2.0, 2.0]

# %% [markdown]
r"""
### 연습 7. `autograd_nodes`

약 20분 · ★★★

손실에서 닿을 수 있는 모든 노드의 클래스 이름을 모읍니다. 갈라지는 길을 모두 가야 하고, 두 길이 만나는 노드는 한 번만 들러야 합니다. 들른 노드를 적어 두지 않으면, 갈라졌다 만나기를 되풀이하는 그래프에서 시간이 기하급수로 늘어납니다. 클래스 이름은 `type(node).__name__`입니다.
"""


# %% tags=["exercise:autograd_nodes"]
def autograd_nodes(loss) -> list[str]:
    """loss.grad_fn에서 next_functions를 따라 닿는 모든 노드의 클래스 이름을, 겹치지 않게 정렬해 돌려줍니다.

    그래프가 없는 loss이면 빈 리스트를 돌려줍니다.
    """
    # BEGIN SOLUTION
    names = set()
    seen = set()
    to_visit = [loss.grad_fn]
    while to_visit:
        node = to_visit.pop()
        # 그래프가 끝났거나 이미 들른 노드입니다
        if node is None or node in seen:
            continue
        seen.add(node)
        names.add(type(node).__name__)
        for next_node, _ in node.next_functions:
            to_visit.append(next_node)
    return sorted(names)
    # END SOLUTION


# %% tags=["check"]
check(autograd_nodes)

# %% [markdown]
r"""
## 8. 버그 찾기

약 20분 · ★★☆

블로그와 이슈에서 되풀이해 나오는 오류를 담은 루프 다섯 개입니다. 코드는 모두 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

먼저 도구를 하나 만듭니다. `step()`이 읽는 `p.grad`를 배치마다의 그레이디언트 $g_1, g_2, \dots$의 합으로 풀면, 업데이트 한 번에 **어떤 배치가 얼마씩** 들어갔는지, 곧 업데이트의 재료(레시피)를 알 수 있습니다. 채점기의 막대그래프도 이렇게 그립니다. 코드는 접어 두었고, 건너뛰어도 됩니다.
"""


# %% tags=["folded"]
# 준비: 업데이트의 재료를 적어 두는 옵티마이저와, 그것을 막대로 그리는 함수
class RecipeSGD(torch.optim.SGD):
    """업데이트마다 그 그레이디언트가 어느 배치의 그레이디언트를 얼마씩 더한 것인지 적어 두는 SGD입니다."""

    def __init__(self, model, batches, lr=0.05):
        super().__init__(model.parameters(), lr=lr)
        self.model, self.batches, self.recipes = model, batches, []
        self.seen = []  # 순전파한 배치의 그레이디언트를, 순전파한 바로 그 가중치에서 구해 둡니다
        model.register_forward_hook(self.remember)

    def remember(self, model, inputs, logits):
        yb = next(y for x, y in self.batches if x is inputs[0])
        grads = torch.autograd.grad(loss_fn(logits, yb), list(model.parameters()), retain_graph=True)
        self.seen.append(flat(grads))

    def step(self, closure=None):
        used = flat(p.grad for p in self.model.parameters())
        basis = torch.stack(self.seen, dim=1).cpu()
        amounts = torch.linalg.lstsq(basis, used.cpu()[:, None]).solution.flatten()
        self.recipes.append([round(amount, 2) + 0.0 for amount in amounts.tolist()])
        return super().step(closure)


def recipe_fixture(seed, n_batches):
    """레시피를 정확히 풀 수 있게 float64로 만든 모델과 작은 배치들입니다."""
    model = make_model(seed).double()
    batches = [(xb.double(), yb) for xb, yb in make_batches(seed, batch_size=8)[:n_batches]]
    return model, RecipeSGD(model, batches), batches


def show_recipes(recipes, right, title, description):
    """업데이트마다의 레시피를 막대로, 바른 루프의 레시피를 빈 테두리로 그립니다."""
    slots = [str(batch) for batch in range(1, max(map(len, [*recipes, *right])) + 1)]
    figure, axes = plt.subplots(1, len(recipes), figsize=(9, 2.8), sharey=True)
    for number, (axis, used, wanted) in enumerate(zip(axes, recipes, right, strict=True), start=1):
        for recipe, look in [
            (used, {"color": COLORS["wrong"], "width": 0.5, "label": "이 루프"}),
            (
                wanted,
                {
                    "facecolor": "none",
                    "edgecolor": COLORS["right"],
                    "width": 0.8,
                    "linewidth": 1.8,
                    "label": "바른 루프",
                },
            ),
        ]:
            axis.bar(slots, recipe + [0.0] * (len(slots) - len(recipe)), **look)
        axis.set_title(f"{number}번째 업데이트", fontsize=10)
        axis.set_xlabel("배치 번호", fontsize=9)
        axis.tick_params(axis="x", labelsize=9)
        axis.grid(visible=False, axis="x")
    axes[0].legend(loc="upper right", fontsize=9)
    axes[0].set_ylabel("들어간 양")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    show(figure, description)


# %% [markdown]
r"""
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

`k`번째 업데이트에 `g1`부터 `gk`까지 모두 들어갑니다. 그레이디언트를 에폭이 바뀔 때만 지우기 때문입니다. 배치가 하나뿐인 테스트에서는 드러나지 않습니다. 3절에서 보았듯 손실로도 잘 드러나지 않습니다. 고치려면 `opt.zero_grad()`를 안쪽 `for`의 첫 줄로 옮깁니다.

실제 사례: 한 한국어 강의의 실습 코드에서 수강생이 찾아내어 고쳐졌습니다([Standalone-DeepLearning#11](https://github.com/heartcored98/Standalone-DeepLearning/issues/11)).

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
left_over = flat(p.grad for p in model.parameters()).norm().item()
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
2. 에폭 끝의 세 개가 업데이트되지 않습니다.
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
modes = []
model[2].register_forward_hook(
    lambda layer, inputs, output: modes.append(layer.training) if torch.is_grad_enabled() else None
)
batches = make_batches(seed=14)
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
model = make_model(seed=15)
batches = make_batches(seed=15)
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

`total_loss`가 모든 스텝의 `loss`를 붙들고, `loss`가 각자의 그래프를 붙듭니다. `backward()`가 저장된 텐서는 놓아 주므로 스텝마다 새는 양은 적습니다. 같은 코드를 **검증 루프에** `no_grad()` 없이 쓰면 저장된 텐서까지 모두 남아 훨씬 빨리 메모리가 찹니다. 고치려면 `total_loss += loss.item()`으로 숫자만 더합니다. 샘플 평균이 필요하면 6.1절처럼 `len(xb)`를 곱해 더하고 전체 샘플 수로 나눕니다.

실제 사례: [horovod#641](https://github.com/horovod/horovod/pull/641).

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
    logits = model(x_train)
    accuracy = (logits.argmax(dim=1) == y_train).float().mean().item()
print(
    f"루프가 본 마지막 손실 {last:.3f}, 이론상 가장 낮은 손실 {best_possible:.3f}, 학습 정확도 {accuracy:.3f}"
)
reveal("01-bug5")

# %% tags=["folded"]
# 확인: 가장 낮은 손실, 마지막 손실, 정확도
assert abs(best_possible - 1.461) < 1e-3
assert best_possible - 1e-3 <= last < 1.8
assert accuracy > 0.9

# %% [markdown]
r"""
<details>
<summary>설명</summary>

확률은 0과 1 사이이므로 softmax를 한 번 더 하면 정답의 몫이 많아야 $e/(e+9) \approx 0.232$입니다. 손실은 $-\ln 0.232 \approx 1.46$ 아래로 내려가지 못합니다. 방금 본 것처럼 정확도는 오르기 때문에 그냥 지나치기 쉽습니다. `nn.CrossEntropyLoss`에는 로짓을 그대로 넣습니다.

</details>

## 9. 화이트보드

약 5분 · ★☆☆

위를 보지 말고 다섯 줄을 씁니다. 자동 완성도 끄면 더 좋습니다. 다 쓴 다음 아래 셀들을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""


# %% tags=["whiteboard"]
def from_memory(model, opt, loss_fn, xb, yb): ...


# %% tags=["folded"]
# 준비: 손으로 계산한 업데이트와 비교하는 함수
def by_hand(model, batches, lr):
    """autograd.grad로 그레이디언트만 얻어 직접 뺍니다. 다섯 줄을 하나도 쓰지 않습니다."""
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    for xb, yb in batches:
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        loss = loss_fn(torch.func.functional_call(model, leaves, (xb,)), yb)
        grads = torch.autograd.grad(loss, list(leaves.values()))
        weights = {name: w - lr * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    return flat(weights.values())


def grade_whiteboard(attempt):
    """세 스텝 뒤의 가중치를 손 계산과 비교합니다. 한 스텝만 보면 지우기를 빠뜨려도 맞아 보입니다."""
    model = make_model(seed=17).double()
    batches = [(xb.double(), yb) for xb, yb in make_batches(seed=17)[:3]]
    start, expected = flat(model.parameters()), by_hand(model, batches, lr=0.1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for xb, yb in batches:
        attempt(model, opt, loss_fn, xb, yb)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. step()을 부르지 않았거나, step()이 읽을 때 .grad가 비어 있었습니다."
    if torch.allclose(result, expected, rtol=0, atol=1e-9):
        return "다섯 줄을 바르게 썼습니다. 세 스텝 뒤의 가중치가 손 계산과 같습니다."
    return (
        "움직이기는 했지만 손 계산과 다릅니다. 줄마다 무엇을 읽고 무엇을 바꾸는지 1절의 표와 비교해 보세요."
    )


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
| `opt.zero_grad()` | `backward()`가 더하기 때문에, 더하기 전에 지웁니다 | 빠지면 지난 그레이디언트가 계속 더해집니다(모멘텀도 가중치 감쇠도 없는 SGD라면 모멘텀 1.0과 같습니다). `backward()`와 `step()` 사이에 두면 조금도 움직이지 않습니다 |
| `logits = model(xb)` | 지금 가중치로 로짓을 내고 그래프를 새로 만듭니다. 손실이 로짓을 읽으므로 손실보다 앞에 둡니다 | 빠지면 `NameError`입니다. 앞 배치의 로짓이 남아 있으면 `backward()`가 이미 쓴 그래프라며 멈춥니다 |
| `loss = loss_fn(logits, yb)` | 역전파는 숫자 하나에서 출발합니다. 로짓과 정답으로 그 숫자를 만듭니다 | 빠지면 역시 `NameError`이거나, 앞 배치의 손실에 `backward()`를 두 번 부른 셈이 되어 멈춥니다 |
| `loss.backward()` | 그래프를 따라가 `p.grad`에 더합니다. `step()`이 읽을 것을 만듭니다 | 빠지면 `step()`이 읽을 것이 없어 움직이지 않습니다. `step()` 뒤에 두면 쓰기 전에 다음 스텝의 첫 줄이 지웁니다 |
| `opt.step()` | `backward()`가 만든 `p.grad`를 읽으므로 그 뒤, 다음번 지우는 줄 앞에 둡니다 | 빠지면 움직이지 않습니다. `backward()`와 맞바꾸어도 오류 없이 움직이지 않습니다. 지우는 줄까지 그 사이로 옮기면, 두 계층 모델은 역전파에 필요한 가중치가 바뀌었다며 멈춥니다 |

다섯 가지만 기억하세요.

1. 순서는 **무엇을 읽고 무엇을 바꾸는가**에서 나옵니다. 클리핑과 스케줄러의 자리도 마찬가지입니다.
2. 손실이 내려간다고 루프가 맞는 것은 아닙니다. 두세 스텝의 가중치를 비교해야 압니다.
3. 마이크로 배치의 크기가 같고 배치 정규화와 드롭아웃이 없으면, 손실을 그 구간의 마이크로 배치 수로 나눈 누적은 반올림 오차 안에서 큰 배치와 같습니다. 크기가 다르면 샘플 수로 가중하고, 마지막에 남은 짧은 구간은 실제 개수로 나눕니다.
4. 누적이 아끼는 것은 역전파를 위해 저장하는 텐서이지 계산이 아닙니다.
5. 학습 모드와 평가 모드, `requires_grad`, `no_grad`는 서로 다른 스위치입니다.

배운 것은 조금씩 자주 꺼내 볼 때 오래 남습니다. 내일부터 하루에 5분, 터미널의 `grader clinic`이나 새 셀의 `clinic()`으로 틀린 코드를 하나씩 고쳐 보세요. 여기에서 통과한 함수를 조금 고장 낸 코드가 나오고, 직접 했던 실수는 며칠 뒤에 다시 나옵니다.

## 더 해 보기

이 레슨의 글과 연습만으로 풀 수 있는 문제 둘입니다. 점수에 들어가지 않고, 힌트도 없습니다. 채점과 설명은 연습과 같습니다.

### 보너스 1. `accumulate_weighted`

약 20분 · ★★★

5.2절의 표에서 크기가 28, 20, 12, 4인 마이크로 배치는 1/4씩 더하면 큰 배치와 달랐습니다. 크기가 **서로 다른** 마이크로 배치를 받아도 맞는 누적 루프를 씁니다. 구간마다의 업데이트는 그 구간의 샘플을 모두 이어 붙인 배치 하나로 한 업데이트와 같아야 합니다.

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

되풀이할 일은 이렇습니다. 학습 모드에서 순전파해 손실을 재고 리스트에 담습니다. 손실이 `target` **이하**이면(반올림하지 않고 견줍니다) 업데이트하지 않고 끝냅니다. 아니면 그 손실로 한 번 업데이트합니다. NaN은 `target` 이하가 아니므로 NaN에서는 끝내지 않습니다. 업데이트를 `max_steps`번 했으면 손실을 더 재지 않고 끝냅니다.

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

# %% [markdown]
r"""
## 더 읽을거리

- [Optimizing Model Parameters](https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html): 공식 입문서의 학습 루프
- [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html): 그래프, 제자리 연산, `no_grad`와 평가 모드의 차이
- [Optimizer.zero_grad](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html): `None`과 0의 차이
- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): `step()`과 스케줄러를 부르는 순서
- [clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html): 이어 붙인 벡터 하나의 노름
- [Hooks for autograd saved tensors](https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html): 5.4절에서 메모리를 잰 방법

## 다음 노트북

**02 학습 루프 해부.** 다섯 줄을 둘러싼 것들을 다룹니다. 설정과 시드, 혼합 정밀도(mixed precision), 워밍업(warmup), 체크포인트(checkpoint), 그리고 중단했다가 똑같이 이어 가기입니다.
"""
