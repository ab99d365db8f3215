# %% [markdown]
r"""
# `backward()`가 따라가는 길

낯선 산에 오르며 갈림길마다 표지를 세워 두면, 내려올 때는 표지만 따라가면 됩니다. 순전파도 계산할 때마다 표지를 하나씩 세웁니다. 이 표지를 노드(node)라고 하고, 노드를 모두 이은 것이 계산 그래프입니다. `backward()`는 손실에서 출발해 노드를 거꾸로 따라갑니다.

길이 어디에서 끝나는지부터 예측해 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import loss_fn, make_batches, make_model
from grader.experiments.five_line_step.lines import LINES, run_lines
from grader.plots import draw_backward_graph, show, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 노드와 화살표

약 10분 · ★★☆

계산해서 얻은 텐서는 `grad_fn`에 마지막 노드를 들고 있습니다. 손실의 노드는 `loss.grad_fn`입니다. 노드마다 `next_functions`가 있어서, 그 계산의 입력을 만든 노드들을 가리킵니다. 들어 있는 것은 노드와 번호의 쌍인데, 번호는 여기서 쓰지 않습니다. `backward()`는 이 화살표를 따라갑니다. 길이 끝나는 곳에 있는 노드의 이름은 `AccumulateGrad`입니다.

노드의 이름은 계산의 이름에 `Backward0`을 붙인 것입니다. `NllLoss`와 `LogSoftmax`는 교차 엔트로피의 두 조각이고, `Addmm`은 `Linear`가 하는 곱하기와 더하기입니다. 외울 필요는 없습니다.

**예측 1.** 두 계층 모델(`Linear → Tanh → Linear`)의 손실에서 출발하면 `AccumulateGrad` 노드 몇 개에 닿을까요?

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
    path.append(type(node).__name__)
    following = {type(entry).__name__: entry for entry, _ in node.next_functions if entry is not None}
    print(f"{path[-1]:<22} → ({', '.join(following)})")
    onward = [entry for name, entry in following.items() if name not in ("AccumulateGrad", "TBackward0")]
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
길의 끝에 있는 `AccumulateGrad`가 `p.grad`에 값을 **더합니다**. [다섯 줄](1_five_lines.ipynb)에서 본 덧셈이 바로 여기서 일어납니다. 그래서 이 노드는 `.grad`가 달리는 텐서마다 하나씩 있습니다.

입력 `xb`로 가는 길은 없습니다. 그레이디언트가 필요 없는 텐서이므로 `next_functions`의 그 자리의 노드가 `None`입니다. 순회할 때 건너뛰어야 합니다.

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
## 2. 그래프는 일회용입니다

약 5분 · ★★☆

`backward()`가 지나가면 노드가 저장해 둔 텐서를 해제합니다. 그래서 같은 손실에 `backward()`를 두 번 부르면 오류가 나고, 다음 스텝에는 순전파부터 다시 해야 합니다. 순전파를 뺀 루프에서 본 오류가 이것입니다.

오류를 내는 것은 놓아 준 텐서를 다시 찾는 노드입니다. 저장할 텐서가 없는 계산도 있습니다. 합의 그레이디언트는 값과 상관없이 모두 1이므로 `w.sum()`은 아무 텐서도 저장하지 않고, 두 번 불러도 오류 없이 또 더합니다. 오류가 나지 않았다고 새로 계산한 것은 아닙니다.
"""

# %%
loss.backward()
try:
    loss.backward()
    message = ""
except RuntimeError as error:
    message = str(error)
print("모델의 손실:", (message or "오류 없음").split(".")[0])

w = torch.ones(3, requires_grad=True)
total = w.sum()
total.backward()
total.backward()
print("w.sum():", w.grad)

# %% tags=["folded"]
# 확인: 모델의 손실은 두 번째에 멈추고, w.sum()은 두 번 더합니다. 오류를 따라 한 수정과 끊긴 그래프
assert "second time" in message
assert w.grad.tolist() == [2.0, 2.0, 2.0]

model = make_model(seed=11)
loss = loss_fn(model(xb), yb)
loss.backward(retain_graph=True)
once = model[0].weight.grad.clone()
loss.backward()
assert torch.equal(model[0].weight.grad, 2 * once)  # 옛 손실의 그레이디언트를 한 번 더 더했을 뿐입니다

loss = loss_fn(model(xb), yb)
for cut_off in (torch.tensor(loss.item()), model(xb).argmax(dim=1).float().mean(), loss.detach()):
    assert cut_off.grad_fn is None
    try:
        cut_off.backward()
        raised = ""
    except RuntimeError as error:
        raised = str(error)
    assert "does not require grad" in raised

# %% [markdown]
r"""
이 오류의 메시지는 `retain_graph=True`를 권합니다. 학습 루프에서는 대개 틀린 처방입니다. 오류는 사라지지만 옛 손실의 그레이디언트를 다시 더할 뿐이고, 그래프도 메모리에 남습니다. 고칠 것은 순전파를 다시 하지 않은 줄입니다.

반대로 「does not require grad」라는 오류는 길이 끊겼다는 뜻입니다. `.item()`, `.detach()`, `torch.tensor(loss)`, `argmax`를 거친 값에서는 매개변수로 갈 수 없습니다. 손실을 만드는 줄부터 거슬러 올라가며 `grad_fn`이 `None`이 되는 곳을 찾습니다.

## 3. 저장해 둔 값이 그사이에 바뀌면

약 6분 · ★★☆

노드가 값을 저장해 두는 까닭을 작은 수로 봅니다. $y = w_2 \times (w_1 \times x)$에서 $x = 1$, $w_1 = 2$, $w_2 = 3$이면 $y = 6$입니다. $w_1$을 1 늘리면 $y$는 3 늘어납니다. $w_2$만큼입니다. 그래서 앞 계층(layer)의 그레이디언트를 구하려면 뒤 계층의 가중치가 있어야 합니다. 역전파하기 전에 누가 $w_2$를 바꾸어 놓으면 어떻게 될까요?

그런 일을 하는 것이 일찍 부른 `step()`입니다. [두 줄을 더 끼웁니다](2_two_more_lines.ipynb)에서 역전파와 업데이트만 맞바꾸면 조금도 움직이지 않았습니다. 지우는 줄까지 옮기면 지난 배치의 그레이디언트를 정말로 씁니다. 순서는 `순전파 → 손실 → 업데이트 → 지우기 → 역전파`입니다.

**예측 2.** 이 순서로 지금까지 쓴 두 계층 모델을 학습하면 어떻게 될까요? `Linear` 하나뿐인 한 계층 모델은 어떨까요?

- a: 둘 다 한 배치 늦은 그레이디언트로 학습합니다.
- b: 두 계층은 오류가 나고, 한 계층은 학습합니다.
- c: 둘 다 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-10")

# %%
STALE = ["순전파", "손실", "업데이트", "지우기", "역전파"]
try:
    run_lines(STALE, make_batches(seed=5), seed=5)
    stale_error = ""
except RuntimeError as error:
    stale_error = f"{error.__notes__[0]} {error}"
print("두 계층:", (stale_error or "오류 없음").split(": [")[0])

# run_lines는 줄들을 배치마다 차례로 실행합니다. hidden=None이면 한 계층 모델입니다
three_epochs = make_batches(seed=5, epochs=3)
stale, right = (run_lines(lines, three_epochs, seed=5, hidden=None) for lines in (STALE, LINES))
print(f"한 계층: 세 에폭 뒤 손실 {stale.loss:.3f}, 바른 순서는 {right.loss:.3f}")
reveal("01-10")

# %% tags=["folded"]
# 확인: 모델마다 나온 결과와 그 까닭. 배치를 20개로 바꾸면 로짓은 [20, 10]입니다
assert stale_error.startswith("2번째 배치에서")
assert "inplace operation" in stale_error
assert abs(stale.loss - right.loss) < 0.02
assert make_model(seed=5)[2].weight.shape == (10, 32)
try:
    run_lines(STALE, make_batches(seed=5, batch_size=20), seed=5)
    twenty_error = ""
except RuntimeError as error:
    twenty_error = str(error)
assert "[32, 10]" in stale_error
assert "[32, 10]" in twenty_error
assert "version" in stale_error

w1, w2 = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0))
(w2 * (w1 * 1.0)).backward()
assert w1.grad == 3.0

# %% [markdown]
r"""
오류 메시지는 「그레이디언트를 구하는 데 필요한 값이 제자리 연산(inplace operation)으로 바뀌었다」고 말합니다. `step()`은 매개변수를 새로 만들지 않고 제자리에서 바꿉니다. 두 계층 모델에서는 뒤 계층의 가중치가 앞 계층의 그레이디언트에 쓰이는데, 그것을 `step()`이 먼저 바꾸었습니다. PyTorch는 틀린 그레이디언트를 내는 대신 멈춥니다.

첫 배치에서는 왜 멈추지 않을까요? `.grad`가 비어 있어 `step()`이 아무것도 바꾸지 않았기 때문입니다. [다섯 줄](1_five_lines.ipynb)의 120가지 순서에서 「backward에서 멈춤」이 나온 까닭도 이것입니다.

한 계층 모델은 앞에 계층이 없습니다. 입력의 그레이디언트는 구하지 않으니 가중치를 다시 읽을 일이 없습니다. 그래서 오류 없이 한 배치 늦은 그레이디언트로 학습하고, 손실만 보아서는 바른 순서와 구별되지 않습니다.

<details>
<summary>메시지의 나머지: <code>version</code>과 <code>[32, 10]</code></summary>

PyTorch는 텐서를 제자리에서 바꿀 때마다 그 텐서의 버전 번호(`version`)를 올립니다. 순전파 때 적어 둔 번호와 다르면 역전파가 멈춥니다.

`[32, 10]`은 은닉 32개와 클래스 10개를 잇는 뒤 계층의 가중치입니다. `nn.Linear(32, 10)`은 가중치를 `[10, 32]`로 들고 있다가 전치(transpose)해서 곱합니다. 배치가 32개라 로짓의 모양과 우연히 같지만, 배치를 20개로 바꾸어도 메시지에는 그대로 `[32, 10]`이 나옵니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- `backward()`가 무엇을 따라가고 어디에 더하는지 말합니다.
- 손실의 그래프를 직접 돌아봅니다.
- 그래프에 관한 세 오류를 읽고 고칠 줄을 찾습니다.

한 편만 남았습니다. 마지막은 남이 쓴 루프를 읽는 일입니다.

더 읽을거리: [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html) (그래프와 제자리 연산, `no_grad`와 평가 모드의 차이)

[다음: 버그 찾기](9_find_the_bug.ipynb)
"""
