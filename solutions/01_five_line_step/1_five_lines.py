# %% [markdown]
r"""
# 다섯 줄

학습(training)은 같은 다섯 줄을 되풀이하는 일인데, 아래 함수에는 한 줄이 빠져 있습니다. 셀을 누르고 Shift+Enter를 쳐서 함수와 `check`를 차례로 실행하면 무엇이 빠졌는지 나옵니다. 그 줄을 알맞은 곳에 써 넣고 두 셀을 다시 실행해 보세요.

결과에 처음 보는 낱말이 나올 수 있습니다. 매개변수는 학습하며 바꾸는 값이고, 그레이디언트는 그 값을 어느 쪽으로 옮길지 알려 주는 값입니다. SGD는 매개변수를 옮기는 가장 단순한 방법입니다.

### 몸풀기. `mend_step`

약 2분 · ★☆☆
"""


# %% tags=["exercise:mend_step"]
def mend_step(model, opt, loss_fn, xb, yb) -> None:
    """미니 배치 하나로 매개변수를 한 번 업데이트합니다."""
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    opt.step()  # SOLUTION: left out
    opt.zero_grad()


# %% tags=["check"]
from grader import check, hint

check(mend_step)

# %% [markdown]
r"""
<details>
<summary>쓰는 법, 걸리는 시간, 난이도</summary>

- 셀을 누르고 Shift+Enter를 치면 그 셀을 실행하고 다음 셀로 넘어갑니다. 실행하는 동안 왼쪽에 `[*]:`가, 끝나면 `[1]:` 같은 번호가 보입니다. 새 셀은 위쪽 도구 모음의 `+`로 만듭니다.
- 예측은 보기를 누르면 실험까지 실행합니다. JupyterLab이 아니면 먼저 고르고, 그다음 실험을 실행합니다. 틀려도 점수와 상관없습니다. 고르기 전에 실행하면 결과를 가려 둡니다.
- 연습 셀에 함수를 쓰고 실행한 다음, 바로 아래의 `check(...)`를 실행합니다. JupyterLab에서는 한 번 확인한 함수를 고쳐 실행하면 확인도 다시 합니다. 코드의 모양이 아니라 동작으로 채점합니다. 막히면 「힌트」 단추를 누르거나, 그 아래 `# hint(...)`에서 `#`을 지우고 실행합니다. 실행할 때마다 힌트가 하나씩 나오고, 마지막 힌트에만 답이 있습니다.
- 준비하고 표를 만들고 결론을 확인하는 코드는 접어 두었습니다. 접힌 셀도 순서대로 실행합니다. 수치는 모두 이 노트북에서 재고, 결론은 `assert`로 확인합니다.
- 레슨 01은 노트북 아홉 편이고, 한 편에 30~40분이 걸립니다. 하루에 한두 편이면 됩니다. 제목 아래에는 처음 배우는 사람이 쓸 시간과 난이도(★☆☆, ★★☆, ★★★)를 적었습니다. 연습의 시간은 따로 적었습니다. 처음 배운다면 다 합쳐 5시간쯤 걸립니다.

</details>
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import loss_fn, make_batches, make_model
from grader.experiments.five_line_step.lines import (
    LINES,
    clears_before_use,
    run_lines,
    sorted_orders,
    symptom,
)
from grader.plots import draw_cycle, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 줄마다 읽는 것과 바꾸는 것

약 8분 · ★☆☆

먼저 낱말 다섯 개입니다.

- 매개변수(parameter)는 학습하면서 값이 바뀌는 텐서(수를 담은 배열)입니다. 가중치와 편향이 매개변수이고, 코드에서는 `p`라고 씁니다.
- 손실(loss)은 얼마나 틀렸는지를 나타내는 숫자 하나입니다.
- 그레이디언트(gradient)는 손실을 매개변수로 미분한 값입니다. 매개변수를 조금 움직일 때 손실이 얼마나 바뀌는지 알려 줍니다.
- 업데이트(update)는 손실이 줄어드는 쪽으로 매개변수를 옮기는 일입니다.
- 옵티마이저(optimizer)는 업데이트를 맡은 객체이고, 코드에서는 `opt`라고 씁니다.

가장 단순한 옵티마이저 SGD는 학습률(learning rate) $\eta$와 그레이디언트 $g$로 이렇게 옮깁니다.

$$ p \leftarrow p - \eta\, g $$

그레이디언트를 구하려면 매개변수에서 손실까지 어떤 계산을 거쳤는지 알아야 합니다. PyTorch는 계산하면서 그 기록을 남깁니다. 이 기록이 계산 그래프(computation graph)입니다. 구한 그레이디언트는 매개변수마다 하나씩 있는 `p.grad`에 담깁니다. 아직 구하지 않았거나 지운 `p.grad`는 `None`입니다.

코드의 `model`은 8×8 손글씨 숫자를 보고 열 가지 클래스의 점수를 내는 작은 신경망이고, `xb`와 `yb`는 미니 배치(mini-batch), 곧 한 번에 쓰는 샘플 몇 개의 입력과 정답입니다. `loss_fn`은 교차 엔트로피(cross entropy)입니다. 클래스의 점수를 그대로 받아 안에서 확률로 바꾸고, 정답의 확률이 낮을수록 큰 손실을 냅니다.

한 스텝(step)은 미니 배치 하나로 매개변수를 한 번 바꾸는 일입니다. 순서를 외울 필요는 없습니다. 줄마다 무엇을 읽고 무엇을 바꾸는지 보면 저절로 정해집니다. 아래 표의 줄은 일부러 섞어 두었습니다.

| 줄 | 읽는 것 | 만들거나 바꾸는 것 |
|---|---|---|
| 업데이트 `opt.step()` | 매개변수, `p.grad`, 학습률 같은 설정, 옵티마이저의 상태(적어 두는 값) | 매개변수, 옵티마이저의 상태 |
| 손실 `loss_fn(…)` | 로짓(logits, 클래스별 점수), 정답 | 손실. 계산 그래프는 여기에서 끝납니다 |
| 지우기 `opt.zero_grad()` | 없음 | 모든 `p.grad`를 지웁니다 |
| 역전파 `loss.backward()` | 계산 그래프와 그 안에 저장된 값(가중치 등) | `p.grad`. 그래프에 저장된 값은 쓰고 나서 해제합니다 |
| 순전파 `model(…)` | 매개변수, 입력 | 로짓과 계산 그래프 |

지우는 줄을 뺀 네 줄은 앞줄이 만든 것을 뒷줄이 읽으므로 순서가 정해집니다. 지우는 줄은 아무것도 읽지 않습니다. 이 줄은 왜 필요할까요? 역전파가 `p.grad`에 값을 어떻게 넣는지에 달려 있습니다.

**예측 1.** 같은 배치로 순전파(forward pass)와 역전파(backward pass)를 두 번 하고, 그사이에 그레이디언트를 지우지 않습니다. `p.grad`는 어떻게 될까요?

- a: 두 번째 값으로 덮어써집니다. 같은 배치이므로 한 번 했을 때와 같습니다.
- b: 두 배가 됩니다.
- c: 이미 값이 있어서 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-1")

# %%
# 8×8 숫자를 맞히는 작은 모델, 그 첫 계층의 가중치, 샘플 32개인 미니 배치 하나
model = make_model(seed=0)
weight = model[0].weight
xb, yb = make_batches(seed=0)[0]
at_first = weight.grad

loss_fn(model(xb), yb).backward()
once = weight.grad.clone()
loss_fn(model(xb), yb).backward()
twice = weight.grad.clone()

print("backward 전:", at_first)
print(f"한 번: 노름 {once.norm():.4f}, 두 번: 노름 {twice.norm():.4f}")
reveal("01-1")

# %% tags=["folded"]
# 확인: backward 전과, 한 번 하고 두 번 한 뒤의 값
assert at_first is None
assert torch.allclose(twice, 2 * once, rtol=1e-5)

# %% [markdown]
r"""
표의 역전파 줄에는 한 가지가 빠져 있습니다. `backward()`는 `p.grad`에 이미 있던 값도 읽습니다. 나중에 배울 [그레이디언트 누적](3_why_accumulation_works.ipynb)이 이 성질을 씁니다.

### 연습 1. `train_step`

약 15분 · ★☆☆

위의 몸풀기를 다시 보지 말고, 표만 보고 다섯 줄의 순서를 정해 씁니다. 지킬 것이 셋 있습니다.

- 업데이트하기 **전의** 손실을 텐서가 아니라 Python의 `float`로 돌려줍니다. 원소가 하나인 텐서의 값은 `.item()`으로 꺼냅니다. 몸풀기와 다른 점입니다.
- 모델의 모드는 건드리지 않습니다. `model.train()`과 `model.eval()`은 이 함수를 부르는 쪽이 정합니다([모드](6_evaluation_and_switches.ipynb)는 나중에 봅니다).
- 화면에 아무것도 찍지 않습니다. 이 강의에서 쓰는 함수는 모두 그렇습니다. 버그를 찾느라 찍어 본 줄은 확인하기 전에 지우세요. 남아 있으면 실수로 셉니다.

`check(train_step)`은 다른 옵티마이저(AdamW)로도, 배치 정규화(batch normalization, 배치의 평균과 분산으로 값을 맞추는 계층)와 드롭아웃(dropout, 값의 일부를 무작위로 0으로 만드는 계층)이 있는 모델로도 내 함수를 실행합니다.
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
통과했으면 카드 아래의 「현미경」을 눌러 보세요. 새 셀에서 `microscope(train_step)`을 실행해도 됩니다. 직접 쓴 줄 하나하나가 매개변수와 `.grad`를 어떻게 바꾸는지 정답과 나란히 볼 수 있습니다. 레벨과 업적, 다음에 할 것은 `progress()`가 보여 줍니다. 다섯 줄이 손에 익었는지는 나중에 `drill()`로 확인합니다. 기억만으로 쓰는 데 걸린 시간을 잽니다.

## 2. 다른 순서 119가지

약 12분 · ★☆☆

**예측 2.** 다섯 줄을 늘어놓는 순서는 5! = 120가지입니다. 하나하나를 배치 다섯 개에 되풀이해 실행합니다. 바른 순서와 똑같은 가중치(weight)가 나오는 것은 몇 가지일까요? 바른 순서도 셉니다.

- a: 2가지
- b: 3가지
- c: 4가지
"""

# %% tags=["predict"]
predict("01-2")

# %%
outcomes = sorted_orders()  # 120가지 순서를 하나씩 실행해, 나온 결과로 나눕니다
show_table(["결과", "가짓수"], [[outcome, len(orders)] for outcome, orders in outcomes.items()])
print("바른 가중치에 이르는 순서:", *outcomes["바른 가중치"], sep="\n    ")
reveal("01-2")

# %% tags=["folded"]
# 확인: 결과마다 몇 가지인지, 움직이지 않은 순서가 어떤 순서인지
assert {outcome: len(orders) for outcome, orders in outcomes.items()} == {
    "오류: 아직 없는 이름을 읽음": 100,
    "조금도 움직이지 않음": 10,
    "바른 가중치": 4,
    "마지막 업데이트만 빠짐": 3,
    "오류: backward에서 멈춤": 3,
}
ran = [one for outcome, orders in outcomes.items() if "이름" not in outcome for one in orders]
assert set(filter(clears_before_use, ran)) == set(outcomes["조금도 움직이지 않음"])

# %% [markdown]
r"""
네 자리 가운데 첫 줄을 권합니다. 눈에 잘 띄고, 앞의 코드가 그레이디언트를 남겼더라도 맞습니다.

스텝은 되풀이되므로 다섯 줄은 끝과 처음이 이어진 **순환**입니다. 아래 그림입니다.
"""

# %% tags=["folded"]
# 그림: 네 줄이 넘겨주는 것
show(
    draw_cycle(
        {
            "순전파\nmodel(xb)": "로짓",
            "손실\nloss_fn(logits, yb)": "손실",
            "역전파\nloss.backward()": "p.grad: 여기서 지우면 버립니다",
            "업데이트\nopt.step()": "바뀐 매개변수",
        },
        marked="역전파\nloss.backward()",
    ),
    "순전파가 로짓을, 손실이 숫자 하나를, 역전파가 p.grad를, 업데이트가 바뀐 매개변수를 다음 줄에 넘기는 순환. "
    "역전파와 업데이트 사이에서 지우면 방금 구한 그레이디언트를 버립니다.",
)

# %% [markdown]
r"""
조금도 움직이지 않은 10가지는 모두 이 순환의 `backward()`와 `step()` 사이에서 지웁니다. 「마지막 업데이트만 빠짐」 3가지는 바른 순환을 업데이트부터 시작한 것이라, 마지막 배치의 그레이디언트만 쓰지 못합니다.

오류로 멈춘 103가지는 오히려 다행입니다. **아무 말 없이 움직이지 않는 10가지가 문제입니다.**

**예측 3.** 이번에는 자리를 바꾸지 않고 한 줄씩 뺍니다. 오류 없이 끝까지 실행되는데 매개변수가 조금도 움직이지 않는 것은 어느 줄을 뺐을 때일까요?

- a: 업데이트뿐입니다. 역전파를 빼면 `step()`이 읽을 것이 없어 오류가 납니다.
- b: 지우는 줄이나 업데이트입니다.
- c: 역전파나 업데이트입니다.
"""

# %% tags=["predict"]
predict("01-3")

# %%
# symptom은 받은 줄들을 배치 다섯 개에 실행하고, 난 오류나 움직인 거리를 돌려줍니다. first는 첫 배치에 쓸 줄들입니다
missing = {"(모두 있음)": [symptom(LINES), ""]}
for line in LINES:
    rest = [name for name in LINES if name != line]
    missing[line] = [symptom(rest), symptom(rest, first=LINES)]
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
# run_lines는 받은 줄들을 배치마다 차례로 실행합니다
try:
    run_lines(["지우기", "순전파", "logits.backward()", "업데이트"])
    no_loss = ""
except RuntimeError as error:
    no_loss = str(error)
print("logits.backward():", no_loss)

# %% tags=["folded"]
# 확인: 표의 칸마다 나온 결과와, 로짓에서 출발했을 때의 오류
assert all("움직임" in found for found in missing["지우기"])
assert missing["순전파"][0] == "NameError: name 'logits' is not defined"
assert missing["손실"][0] == "NameError: name 'loss' is not defined"
assert all("backward through the graph a second time" in missing[line][1] for line in ["순전파", "손실"])
assert missing["역전파"][0] == missing["업데이트"][0] == "움직이지 않음"
assert "움직임" in missing["역전파"][1]
assert "scalar" in no_loss

# %% [markdown]
r"""
- **순전파나 손실**을 빼면 뒷줄이 읽을 이름이 없습니다. 둘째 배치부터 빼면 앞 배치의 `logits`나 `loss`가 남아 있어 오류가 달라집니다. `backward()`가 이미 쓴 그래프를 다시 거슬러 가려다 멈춥니다. `backward()`는 그래프에 저장된 값을 쓰고 나서 놓아 주기 때문입니다. 그래서 **그래프는 배치마다 새로 만들어야 하고, 그 일을 순전파와 손실 줄이 합니다.**
- **손실**은 숫자 하나여야 합니다. 매개변수를 움직일 때 얼마나 바뀌는지 잴 값이 하나로 정해져야 하기 때문입니다. 로짓은 여러 개라서 `logits.backward()`는 출발하지 못합니다.
- **역전파**를 빼도 오류가 없습니다. `step()`이 `p.grad`가 `None`인 매개변수를 건너뛰기 때문입니다. 둘째 배치부터 빼면 첫 배치에서만 움직입니다.
- **지우는 줄**을 빼면 움직이기는 합니다. 무엇이 잘못되는지는 [한 에폭, 그리고 지우지 않은 루프](5_one_epoch.ipynb)에서 잽니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 다섯 줄을 줄마다 읽는 것과 바꾸는 것에서 끌어내어 씁니다.
- 지우는 줄이 왜 필요하고 어디에 있어도 되는지 말합니다.
- 한 줄이 빠진 루프를 증상만 보고 알아봅니다.

쉬었다 하기 좋은 곳입니다. 이 노트북은 닫아도 됩니다.

더 읽을거리: [Optimizing Model Parameters](https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html) (공식 입문서의 학습 루프)

[다음: 두 줄을 더 끼웁니다](2_two_more_lines.ipynb)
"""
