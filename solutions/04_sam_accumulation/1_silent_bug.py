# %% [markdown]
r"""
# 오류 없이 돌아가는 코드

SAM(Sharpness-Aware Minimization)은 업데이트 한 번에 그레이디언트(gradient)를 **두 번** 구합니다. 지금 가중치(weight) $w$에서 구해 손실(loss)이 커지는 쪽으로 거리 $\rho$만큼 **올라가고**, 올라간 $w + e$에서 다시 구해, $w$로 **돌아와서** 그것으로 업데이트합니다.

아래는 마이크로 배치(micro-batch) 4개를 한 구간(window)으로 누적하는 SAM입니다. 누적 코드의 안쪽에 두 번째 패스(pass, 구간을 한 번 순전파하고 역전파하는 일)를 그대로 끼워 넣었습니다. 오류 없이 돌아가고 손실도 내려갑니다. 읽고, 무엇으로 업데이트하는지 골라 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 분류기와 실험용 SAM
import math

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.digits import loss_fn, make_batches, make_model
from grader.experiments.sam_accumulation.loops import recipe
from grader.experiments.sam_accumulation.pictures import amounts_in_update, valley_picture
from grader.experiments.sam_accumulation.vectors import apart, cosine
from grader.plots import show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 모델의 가중치 전체를 벡터 하나로 다룰 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


# %%
def tempting_loop(model, sam, loss_fn, micro_batches, accum_steps):
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if i % accum_steps != 0:
            continue  # 구간이 찰 때까지 쌓습니다
        sam.first_step(zero_grad=True)  # w + e로 올라갑니다

        for _ in range(accum_steps):
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
        sam.second_step(zero_grad=True)  # w로 돌아와 업데이트합니다


# %% [markdown]
r"""
**예측.** 마이크로 배치 네 개가 한 구간입니다. $w + e$에서 구한 마이크로 배치마다의 그레이디언트를 $h_1, h_2, h_3, h_4$라고 하면, 이 코드는 무엇으로 업데이트할까요?

- a: $4 h_4$
- b: $\frac14 (h_1 + h_2 + h_3 + h_4)$
- c: $h_4$
"""

# %% tags=["predict"]
predict("04-1")

# %%
amounts = recipe(tempting_loop)  # 업데이트에 쓰인 그레이디언트를 h1, …, h4의 합으로 풉니다
print("h1, h2, h3, h4가 들어간 양:", amounts)

# %% tags=["folded"]
# 그림: 업데이트에 들어간 양과 구간 평균
show(
    amounts_in_update(amounts),
    "업데이트에 들어간 양. tempting_loop는 h1, h2, h3이 0이고 h4만 1입니다. 구간 평균의 테두리는 넷 모두 0.25입니다.",
)
assert amounts == [0.0, 0.0, 0.0, 1.0]
reveal("04-1")

# %% [markdown]
r"""
## 1. 무엇이 틀렸을까요

약 3분 · ★☆☆

$w$에서 도는 첫 번째 패스는 4개를 모두 봅니다. 올라가는 방향은 맞습니다. 두 번째 패스는 반복문이 남기고 간 `xb, yb`, 곧 **마지막 마이크로 배치**만 네 번 봅니다. 순전파(forward pass)와 역전파(backward pass)를 네 번씩 하므로 시간은 다 쓰고, 얻는 것은 하나를 한 번 본 것과 같습니다.

이 레슨에서는 SAM을 처음부터 만듭니다. 한 스텝, 누적, 그리고 주변의 부품들입니다. 이 루프는 누적을 다루는 셋째 노트북에서 고칩니다. 먼저 `first_step()`과 `second_step()`부터 만듭니다.

## 2. 네 줄의 식

약 12분 · ★★☆

$$
\begin{aligned}
g &= \nabla L(w) && \text{지금 자리의 그레이디언트} \\
e &= \rho \, \frac{g}{\lVert g \rVert} && \text{길이 } \rho \text{인 오르막} \\
h &= \nabla L(w + e) && \text{올라간 자리의 그레이디언트} \\
w &\leftarrow w - \eta\, h && \text{출발은 } w + e \text{가 아니라 } w
\end{aligned}
$$

같은 손실이라도 좁은 골짜기의 바닥과 넓은 골짜기의 바닥은 다릅니다. 가중치를 조금 건드렸을 때 손실이 크게 오르면 새 데이터에도 약할 것이라는 생각에서 SAM이 나왔습니다. 그래서 줄이려는 것은 $L(w)$가 아니라 반지름 $\rho$ 안에서 가장 나쁜 손실 $\max_{\lVert e \rVert \le \rho} L(w + e)$입니다. $L(w + e) \approx L(w) + g^\top e$로 어림하면 가장 나쁜 $e$는 $g$ 방향이고, 여기서 둘째 줄이 나옵니다. $e$도 $w$에 따라 바뀌지만 그 미분은 버립니다. 원래 논문도 그렇게 어림합니다.

노름(norm)은 모든 매개변수(parameter)를 이어 붙인 **벡터 하나**의 길이입니다. 그레이디언트 클리핑(gradient clipping)에 쓰는 노름과 같습니다. 가중치를 일부러 옮기는 $e$를 섭동(perturbation)이라고 합니다.
"""


# %%
def valley(x, y):
    """x로는 완만하고 y로는 가파른 골짜기입니다."""
    return 0.5 * x**2 + 4 * y**2


def slope(point):
    return torch.tensor([point[0], 8 * point[1]])


w = torch.tensor([-2.0, 0.42])
rho, lr = 0.55, 0.09
g = slope(w)
peak = w + rho * g / g.norm()
h = slope(peak)

# %% tags=["folded"]
# 그림: 골짜기의 등고선과 화살표
points = {"w": w, "peak": peak, "sam": w - lr * h, "sgd": w - lr * g}
show(
    valley_picture(valley, points, -lr * h),
    "2차원 골짜기의 등고선. w에서 손실이 커지는 쪽으로 길이 ρ만큼 올라간 점이 w + e입니다. "
    "거기에서 구한 방향을 w로 가져와서 업데이트합니다. 가파른 쪽으로 SGD보다 더 많이 내려갑니다.",
)
assert abs((peak - w).norm().item() - rho) < 1e-6
assert valley(*peak) > valley(*w)
# 가파른 쪽의 걸음은 SGD보다 길어지고, 완만한 쪽은 거의 그대로입니다
across, along = (h / g).tolist()
assert across < 1.3
assert along > 2

# %% [markdown]
r"""
그림에서 $h$의 가파른 쪽(세로) 성분은 $g$의 두 배가 넘고, 완만한 쪽(가로) 성분은 조금 큽니다. 올라간 자리에서는 가파른 방향이 더 가팔라 보입니다. 그래서 SAM은 **가파른 방향으로 더 많이 내려갑니다.**

## 3. 노름은 하나

약 5분 · ★★☆

**예측.** 두 계층(layer) 모델에는 가중치 둘, 편향(bias) 둘로 텐서가 네 개입니다. 노름을 하나로 구하지 않고 **텐서마다** 따로 나누어 올라가면, 전체가 움직인 거리는 얼마일까요?

- a: $\rho$. 방향만 조금 다릅니다.
- b: $2\rho$
- c: $4\rho$
"""

# %% tags=["predict"]
predict("04-3")

# %%
model = make_model(seed=2)
window = make_batches(seed=2, count=4)
loss = sum(loss_fn(model(xb), yb) for xb, yb in window) / 4
grads = torch.autograd.grad(loss, list(model.parameters()))
g = flat(grads)
whole = 0.05 * g / g.norm()
each = flat(0.05 * grad / grad.norm() for grad in grads)

# %% tags=["folded"]
# 표와 확인: 두 노름에서 움직인 거리
show_table(
    ["노름", "움직인 거리 ÷ ρ", "그레이디언트와의 코사인"],
    [
        ["하나", f"{whole.norm() / 0.05:.3f}", f"{cosine(whole, g):.3f}"],
        ["텐서마다", f"{each.norm() / 0.05:.3f}", f"{cosine(each, g):.3f}"],
    ],
)
assert abs(whole.norm().item() / 0.05 - 1) < 1e-12
assert abs(each.norm().item() / 0.05 - 2) < 1e-12  # 길이 ρ인 조각이 넷: √4
assert cosine(each, g) < 0.95
reveal("04-3")

# %% [markdown]
r"""
## 4. 다른 옵티마이저를 감싸는 옵티마이저

약 5분 · ★★☆

SAM은 옵티마이저이면서 다른 옵티마이저를 부릅니다. 더 단순한 것으로 모양부터 봅니다. 아래의 `Shrinking`은 가중치에 `shrink`를 곱한 다음 나머지를 base 옵티마이저에 맡깁니다.
"""


# %%
class Shrinking(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, shrink=0.5, **kwargs):
        # 그룹마다 shrink와, lr 같은 나머지 설정이 들어갑니다
        super().__init__(params, dict(shrink=shrink, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups  # 두 옵티마이저가 같은 그룹을 봅니다

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(group["shrink"])
        self.base_optimizer.step()


# %% [markdown]
r"""
같은 그룹을 보므로, 스케줄러가 바꾼 학습률은 base 옵티마이저에도 바뀌어 있습니다.
"""

# %%
p = torch.nn.Parameter(torch.tensor([8.0]))
p.grad = torch.tensor([1.0])
shrinking = Shrinking([p], torch.optim.SGD, shrink=0.5, lr=0.1)
shrinking.param_groups[0]["lr"] = 1.0  # 스케줄러가 하는 일입니다
shrinking.step()
print("8 × 0.5 − 1.0 × 1 =", p.item())
assert p.item() == 3.0
assert shrinking.base_optimizer.param_groups[0]["lr"] == 1.0

# %% [markdown]
r"""
### 연습. `SAM`

약 40분 · ★★★

`torch.optim.Optimizer`를 상속해 만듭니다. 지켜야 할 것이 네 가지 있습니다.

- **매개변수 그룹(parameter group)은 base 옵티마이저(optimizer)와 같은 것을 씁니다.** 그룹은 학습률 같은 설정을 함께 쓰는 매개변수의 묶음입니다.
- **움직인 것은 모두 되돌립니다.** 두 번째 그레이디언트가 `None`인 매개변수도 움직였다면 되돌려야 합니다.
- 되돌릴 때는 적어 둔 값을 **그대로 복사합니다.** $e$를 다시 빼면 반올림이 쌓입니다. 채점은 빼는 방법도 받지만, 아래의 학습률 0 시험에서는 반올림만큼 어긋납니다.
- 그레이디언트가 모두 0이면 0으로 나누게 됩니다. 움직이지 않고 지나가야 합니다.

`adaptive=True`이면 SAM을 조금 바꾼 ASAM입니다. 식은 docstring에 있고, 왜 이렇게 바꾸는지는 [다섯째 노트북](5_two_forwards.ipynb)에서 잽니다.
"""


# %% tags=["exercise:SAM"]
class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다. 두 걸음 사이에 부르는 쪽이 그레이디언트를 다시 구합니다.

    base_optimizer: torch.optim.SGD 같은 클래스입니다. 남은 인자(lr 등)로 여기서 만듭니다.
    rho: 올라가는 거리입니다. 0보다 작으면 ValueError를 냅니다.
    adaptive: True이면 ASAM입니다. 가중치의 크기에 맞추어 올라갑니다.
    """

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        # BEGIN SOLUTION
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        # 그룹과 상태를 함께 씁니다. 스케줄러를 어느 쪽에 걸어도 같습니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        self.before = {}
        # END SOLUTION

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        """w에서 w + e로 올라가고, w를 적어 둡니다.

        e = ρ·g / ‖g‖. 노름은 모든 매개변수를 합친 하나입니다.
        adaptive이면 e = ρ·w²·g / ‖|w|·g‖ 입니다(w², |w|는 성분마다).
        그레이디언트가 None인 매개변수는 건드리지 않습니다. 그레이디언트가 모두 0이면 움직이지 않습니다.
        zero_grad: True이면 다 움직인 다음에 모든 매개변수 그룹의 그레이디언트를 지웁니다.
        """
        # BEGIN SOLUTION
        squares = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.abs() * p.grad if group["adaptive"] else p.grad
                squares.append(g.square().sum())
        # 노름은 하나입니다. 텐서마다 따로 구하지 않습니다
        norm = math.sqrt(sum(squares))

        for group in self.param_groups:
            # 그레이디언트가 0이어도 0으로 나누지 않습니다
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.square() * p.grad if group["adaptive"] else p.grad
                self.before[p] = p.clone()
                p.add_(e * scale)
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        """적어 둔 w로 모두 되돌린 다음, w + e에서 구한 그레이디언트로 base_optimizer가 한 스텝을 합니다.

        zero_grad: True이면 그 스텝까지 마친 다음에 모든 매개변수 그룹의 그레이디언트를 지웁니다.
        """
        # BEGIN SOLUTION
        # .grad가 None이 된 매개변수도 되돌립니다
        for p, before in self.before.items():
            p.copy_(before)
        self.before.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    def state_dict(self):
        """저장할 것을 돌려줍니다. base_optimizer의 상태(모멘텀 등)가 dict나 리스트 안에 텐서 그대로 들어 있습니다."""
        # BEGIN SOLUTION
        return self.base_optimizer.state_dict()
        # END SOLUTION

    def load_state_dict(self, state_dict):
        """state_dict()가 돌려준 것을 읽어, 거기서부터 이어서 학습할 수 있게 합니다."""
        # BEGIN SOLUTION
        self.base_optimizer.load_state_dict(state_dict)
        # 읽으면 그룹과 상태가 새것으로 바뀝니다. 다시 함께 씁니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        # END SOLUTION


# %% tags=["check"]
check(SAM)

# %% [markdown]
r"""
## 5. 학습률 0 시험

약 5분 · ★☆☆

SAM을 직접 만들거나 가져다 쓸 때 가장 먼저 해 볼 시험입니다. 학습률(learning rate)을 0으로 놓고 몇 스텝을 돌립니다. 바른 SAM은 올라갔다가 돌아오므로 가중치가 비트까지 그대로여야 합니다. 되돌리기를 빠뜨린 것도, 되돌릴 값을 복사본이 아닌 것으로 적어 둔 것도 여기서 걸립니다.
"""

# %%
try:
    model = make_model(seed=4)
    before = flat(model.parameters())
    sam = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.0)
    for xb, yb in make_batches(seed=4, count=5):
        loss_fn(model(xb), yb).backward()
        sam.first_step(zero_grad=True)
        climbed = (flat(model.parameters()) - before).norm().item()
        loss_fn(model(xb), yb).backward()
        sam.second_step(zero_grad=True)
    print(f"올라간 거리 {climbed:.4f}, 5스텝 뒤에 어긋난 거리 {apart(before, flat(model.parameters()))}")
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"SAM을 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 누적과 함께 쓴 SAM 코드를 읽고, 업데이트가 어느 마이크로 배치로 만들어졌는지 말합니다.
- SAM을 `torch.optim.Optimizer`로 만들고, 학습률 0으로 시험합니다.

SAM의 가장 어려운 부분을 만들었으니 여기서 쉬기에 좋습니다. [다음: 한 스텝과 그 둘레](2_one_step.ipynb)에서는 이 두 걸음을 불러 업데이트 한 번을 하고, 스케일러와 스케줄러를 붙입니다.
"""
