# %% [markdown]
r"""
# 두 줄을 더 끼웁니다

실제로 쓰는 학습 루프에는 다섯 줄 말고 두 줄이 더 있습니다.

- 그레이디언트 클리핑(gradient clipping)은 너무 큰 그레이디언트를 줄입니다.
- 스케줄러(scheduler)는 스텝마다 학습률을 바꿉니다.

두 줄은 다섯 줄의 어디에 끼워야 할까요? 자리를 먼저 짐작해 보고 읽으세요. 한 줄씩 차례로 봅니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import warnings

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.data import make_batches, on_cpu
from grader.experiments.five_line_step.lines import LINES, run_lines
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 클리핑의 자리

약 6분 · ★☆☆

어쩌다 그레이디언트가 아주 크게 나오면 매개변수가 한 스텝에 너무 멀리 갑니다. 그래서 그레이디언트의 길이에 한도를 둡니다.

그레이디언트가 3과 4라면 길이는 $\sqrt{3^2 + 4^2} = 5$입니다. 벡터의 이런 길이를 노름(norm)이라고 합니다. 한도가 1이면 둘을 모두 5로 나누어 0.6과 0.8로 만듭니다. 길이는 1이 되고, 방향은 그대로입니다. 이것이 클리핑입니다. 한도를 넘지 않으면 줄이지 않습니다.

모델에서는 모든 매개변수의 그레이디언트를 한 줄로 이어 붙이고, 그 노름 하나를 잽니다. 코드는 이렇습니다.

```python
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
```

`max_norm`이 한도입니다. 이 줄이 읽는 것도 바꾸는 것도 `p.grad`입니다. 매개변수는 건드리지 않습니다.

**예측 1.** `clip_grad_norm_`을 `opt.step()` 바로 다음 줄로 옮깁니다. 20스텝 뒤의 가중치는 어떨까요?

- a: 클리핑이 없는 것과 같습니다.
- b: 바른 자리에 둔 것과 거의 같습니다.
- c: 어느 쪽과도 다릅니다.
"""

# %% tags=["predict"]
predict("01-4")

# %%
# run_lines는 줄들을 배치마다 차례로 실행합니다.
# norms는 step()이 읽은 그레이디언트의 노름, weights는 끝난 뒤의 가중치입니다
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)"
batches = make_batches(seed=2)[:20]
no_clip = run_lines(LINES, batches, seed=2, lr=0.5)
print(f"첫 스텝의 그레이디언트 노름은 {no_clip.norms[0]:.3f}, max_norm은 0.1입니다")

distance = {}
for place, number in {"backward 전": 3, "backward와 step 사이": 4, "step 다음": 5}.items():
    lines = [*LINES][:number] + [CLIP] + [*LINES][number:]
    run = run_lines(lines, batches, seed=2, lr=0.5)
    distance[place] = (run.weights - no_clip.weights).abs().max().item()
show_table(["클리핑의 자리", "클리핑이 없는 가중치와의 최대 차이"], distance.items())
reveal("01-4")

# %% tags=["folded"]
# 확인: 클리핑이 실제로 걸리는 설정인지와, 자리마다의 차이. 3과 4를 줄인 것, 넘지 않아도 아주 조금 줄이는 것
assert no_clip.norms[0] > 0.2
assert distance["backward와 step 사이"] > 0.05
assert max(distance["backward 전"], distance["step 다음"]) < (1e-12 if on_cpu else 1e-5)

pair = torch.nn.Parameter(torch.zeros(2))
pair.grad = torch.tensor([3.0, 4.0])
torch.nn.utils.clip_grad_norm_([pair], max_norm=1.0)
assert torch.allclose(pair.grad, torch.tensor([0.6, 0.8]), atol=1e-5)

barely = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
barely.grad = torch.full_like(barely, 5.0)
torch.nn.utils.clip_grad_norm_([barely], max_norm=5.0000001)
assert 4.99999 < barely.grad.item() < 5.0

# %% [markdown]
r"""
클리핑의 자리는 `backward()`가 `p.grad`에 값을 넣은 다음, `step()`이 읽기 전입니다. 다른 자리에 두어도 오류는 나지 않습니다.

<details>
<summary>한도를 넘지 않으면 정말 그대로일까요</summary>

거의 그렇습니다. PyTorch는 `max_norm`을 노름으로 나눈 수를 곱하는데, 노름이 0이어도 나눌 수 있게 노름에 $10^{-6}$을 더해 둡니다. 그래서 노름이 `max_norm`과 거의 같으면, 넘지 않았어도 아주 조금 줄어듭니다.

</details>

## 2. 스케줄러의 자리

약 4분 · ★☆☆

처음에는 크게 움직이고, 나중에는 작게 움직이고 싶을 때가 많습니다. 그럴 때 학습률을 조금씩 바꿉니다. 스케줄러는 `scheduler.step()`을 부를 때마다 학습률을 다음 값으로 바꿉니다. 이름이 같지만 `opt.step()`과는 다른 줄입니다.

아래에서 쓸 `ExponentialLR(opt, gamma=0.5)`은 부를 때마다 학습률을 반으로 줄입니다. 0.8에서 시작해 배치 네 개를 학습하면 0.8, 0.4, 0.2, 0.1을 차례로 써야 합니다.

**예측 2.** 스케줄러를 `opt.step()`보다 먼저 부르면 어떻게 될까요?

- a: 오류로 멈춥니다.
- b: 학습은 계속되고, 첫 학습률을 한 번도 쓰지 않습니다.
- c: 학습은 계속되고, 첫 학습률을 두 번 씁니다.
"""

# %% tags=["predict"]
predict("01-5")

# %%
# before는 첫 배치 전에 한 번 실행할 줄이고, rates는 step()이 읽은 학습률입니다
HALVE = "scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)"
four = make_batches(seed=3)[:4]
after = run_lines([*LINES, "scheduler.step()"], four, lr=0.8, before=HALVE)
with warnings.catch_warnings(record=True) as caught:  # PyTorch가 내는 경고를 모읍니다
    warnings.simplefilter("always")
    early = run_lines([*LINES][:4] + ["scheduler.step()", "업데이트"], four, lr=0.8, before=HALVE)

print("step 다음에 부르면, step()이 읽은 학습률:", after.rates)
print("step 앞에서 부르면:", early.rates)
print("경고:", str(caught[0].message)[:85], "…")
reveal("01-5")

# %% tags=["folded"]
# 확인: step()이 읽은 학습률과 경고의 내용
assert after.rates == [0.8, 0.4, 0.2, 0.1]
assert early.rates == [0.4, 0.2, 0.1, 0.05]
assert "optimizer.step()" in str(caught[0].message)

# %% [markdown]
r"""
스케줄러는 `opt.step()`이 이번 학습률을 쓴 다음에 부릅니다.

두 줄의 자리도 다섯 줄처럼 무엇을 읽고 무엇을 바꾸는지로 정해졌습니다.

| 줄 | 읽는 것 | 바꾸는 것 |
|---|---|---|
| `clip_grad_norm_(…)` | `p.grad` | `p.grad` |
| `scheduler.step()` | 지금까지 몇 번 불렸는지, 지금 학습률 | 학습률 |

### 연습 2. `train_step_extras`

약 15분 · ★★☆

`train_step`에 클리핑과 스케줄러를 끼웁니다. `max_norm`과 `scheduler`가 둘 다 `None`이면 `train_step`과 똑같이 움직여야 합니다. 이 노트북에는 `train_step`이 없으니 다섯 줄부터 다시 씁니다. 클리핑에는 `torch.nn.utils.clip_grad_norm_`을 씁니다.
"""


# %% tags=["exercise:train_step_extras"]
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    """한 스텝에 두 가지를 끼웁니다. 업데이트하기 전의 손실을 float로 돌려줍니다. 처음 부를 때는 .grad가 비어 있습니다.

    max_norm: None이 아니면 모든 그레이디언트를 합친 노름이 max_norm을 넘지 않게 줄입니다. 0.0이면 0까지 줄입니다.
    scheduler: 있으면 업데이트한 다음 학습률을 다음 값으로 바꿉니다.
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
## 3. `step()`을 `backward()`보다 먼저 부르면

약 5분 · ★☆☆

두 줄을 끼우다 보면 순서가 섞이기 쉽습니다. 다섯 줄에서 역전파와 업데이트만 맞바꾸어 봅니다. 순서는 `지우기 → 순전파 → 손실 → 업데이트 → 역전파`입니다. 에폭(epoch)은 학습 데이터를 한 바퀴 도는 것입니다.

**예측 3.** 이 순서로 한 에폭을 학습하면 어떻게 될까요?

- a: 매개변수가 조금도 움직이지 않습니다.
- b: 한 배치 늦은 그레이디언트로 비슷하게 학습합니다.
- c: 두 번째 배치에서 오류가 납니다.
"""

# %% tags=["predict"]
predict("01-9")

# %%
swapped = run_lines(["지우기", "순전파", "손실", "업데이트", "역전파"], make_batches(seed=5), seed=5)
print(f"가장 많이 움직인 거리 {swapped.moved}, 손실 {swapped.loss:.3f}")
reveal("01-9")

# %% tags=["folded"]
# 확인: 움직인 거리
assert swapped.moved == 0.0

# %% [markdown]
r"""
「지난 배치의 그레이디언트로 업데이트하므로, 그럭저럭 학습되는 것처럼 보인다」라는 설명은 이 순서에서는 틀립니다. 지우는 줄까지 `step()` 뒤로 옮겨야 지난 배치의 것을 쓰게 됩니다. 그때 무슨 일이 생기는지는 계산 그래프를 열어 본 다음에 봅니다([`backward()`가 따라가는 길](8_backward_graph.ipynb)).

## 여기까지

이제 이런 것을 할 수 있습니다.

- 클리핑과 스케줄러를 제자리에 끼우고, 왜 그 자리인지 말합니다.
- `step()`을 `backward()`보다 먼저 부르면 왜 움직이지 않는지 압니다.

한 스텝은 여기서 완성입니다. 쉬어 가기 좋습니다.

더 읽을거리: [torch.optim](https://docs.pytorch.org/docs/stable/optim.html) (스케줄러를 부르는 순서), [clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)

[다음: 나누어 더해도 같을까요](3_why_accumulation_works.ipynb)
"""
