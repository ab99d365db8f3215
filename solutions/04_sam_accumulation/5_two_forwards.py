# %% [markdown]
r"""
# 순전파를 두 번 해서 생기는 일

SAM은 순전파(forward pass)를 두 번 하고, 그사이에 가중치(weight)를 일부러 옮깁니다. 한 번만 한다고 믿고 만든 부품들이 어긋납니다. 그 전에 지난 노트북을 보지 말고 한 구간(window)의 SAM 업데이트를 화이트보드에 쓰듯 써 보세요.

`window`는 `(xb, yb)`의 리스트이고, 노름(norm)이 `max_norm`을 넘으면 클리핑합니다. `sam`에는 `first_step`, `second_step`, `zero_grad`가 있습니다. 다 쓴 다음 그 아래 셀을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 분류기와 실험용 SAM
import math
from statistics import median

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.digits import device, loss_fn, make_batches, make_model
from grader.experiments.sam_accumulation.loops import VectorSAM, update_by_hand
from grader.experiments.sam_accumulation.two_passes import (
    frozen_statistics,
    helper_freeze,
    with_batch_norm,
)
from grader.experiments.sam_accumulation.vectors import apart, gradient_at, relative_error, set_weights
from grader.plots import show_table

torch.set_num_threads(1)


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 모델의 가중치 전체를 벡터 하나로 다룰 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


# %% tags=["whiteboard"]
def window_from_memory(model, sam, loss_fn, window, max_norm): ...


# %% tags=["folded"]
# 채점: 손으로 계산한 업데이트와 비교합니다
def grade_window(attempt):
    """구간 셋(마지막은 짧습니다)을 손 계산과 비교합니다."""
    batches = make_batches(seed=14, count=10)
    windows = [batches[:4], batches[4:8], batches[8:]]
    expected = update_by_hand(make_model(seed=14), windows, rho=0.05, lr=0.5, max_norm=0.3)
    model = make_model(seed=14)
    start = flat(model.parameters())
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.5))
    for window in windows:
        attempt(model, sam, loss_fn, window, 0.3)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, second_step()을 부르지 않았습니다."
    if apart(result, expected) < 1e-9:
        return "두 패스가 모두 제자리에 있습니다. 구간 셋을 지난 가중치가 손 계산과 같습니다."
    return (
        f"움직이기는 했지만 손 계산과 {apart(result, expected):.0e}만큼 다릅니다. "
        "두 패스 사이에 그레이디언트를 지웠는지, 두 번째 패스가 구간을 전부 보는지, "
        "나누고 클리핑한 자리가 어디인지 확인해 보세요."
    )


print(grade_window(window_from_memory))
assert "움직이지 않았습니다" in grade_window(lambda *args: None)

# %% [markdown]
r"""
## 1. 배치 정규화

약 10분 · ★★☆

배치 정규화(batch normalization)의 이동 통계량(running statistics)은 학습 모드(train mode)로 순전파할 때마다 바뀝니다. SAM과 누적이면 업데이트 한 번에 $2N$번이고, 그 절반은 일부러 옮긴 $w + e$에서 잰 통계입니다. 두 번째 패스(pass)에서만 얼리면 됩니다.

[davda54/sam의 예제](https://github.com/davda54/sam/blob/main/example/utility/bypass_bn.py)에 있는 도우미는 `momentum`을 적어 두고 0으로 바꿨다가 되돌립니다. 핵심은 아래 두 줄씩이고, 아래 실험의 `helper_freeze`도 같은 방법입니다.

```python
module.backup_momentum = module.momentum  # 얼리기
module.momentum = 0

module.momentum = module.backup_momentum  # 풀기
```

**예측.** 이 도우미의 「얼리기」를 **마이크로 배치(micro-batch)마다** 부르고, 「풀기」를 다음 구간의 첫 번째 패스 앞에서 한 번 부릅니다. 어떻게 될까요?

- a: 두 번째 패스에서만 얼어 있습니다. 여러 번 불러도 같습니다.
- b: 두 번째로 얼릴 때 오류가 납니다.
- c: 첫 구간 뒤로 영영 얼어 있습니다.
"""

# %% tags=["predict"]
predict("04-8")

# %%
# frozen_statistics: 블록 안에서는 배치의 통계로 정규화하되, 이동 통계량을 바꾸지 않습니다
ways = {
    "블록 하나로 얼림": with_batch_norm(around_pass=frozen_statistics),
    "얼리지 않음": with_batch_norm(),
    "마이크로 배치마다 얼림": with_batch_norm(before_batch=helper_freeze),
}

# %% tags=["folded"]
# 표와 확인: SAM과 누적으로 20번 업데이트한 뒤
right = ways["블록 하나로 얼림"]
show_table(
    ["두 번째 패스에서", "가중치의 차이", "이동 평균의 차이", "이동 통계량이 바뀐 구간", "센 배치 수"],
    [
        [
            how,
            apart(run.weights, right.weights),
            f"{apart(run.running_mean, right.running_mean):.1e}",
            f"{run.changed} / 20",
            run.batches_counted,
        ]
        for how, run in ways.items()
    ],
)
assert all(apart(run.weights, right.weights) < 1e-9 for run in ways.values())  # 학습 모드는 읽지 않습니다
assert [run.batches_counted for run in ways.values()] == [80, 160, 160]
assert apart(ways["얼리지 않음"].running_mean, right.running_mean) > 1e-3
assert right.changed == 20
assert ways["마이크로 배치마다 얼림"].changed == 1
reveal("04-8")

# %% [markdown]
r"""
표의 「가중치의 차이」는 모두 0입니다. 학습하는 동안에는 배치의 통계만 쓰므로 이동 통계량이 틀려도 드러나지 않습니다. **평가 모드(evaluation mode)로 바꾼 다음에야** 틀린 통계로 예측합니다. 두 번째 패스를 `model.eval()`로 하면 통계량은 지켜지지만 정규화하는 식이 달라져 $h$가 다른 값이 됩니다. `frozen_statistics`는 통계량을 기록하는 스위치(`track_running_stats`)만 끕니다. 그러면 지나간 배치를 세는 `num_batches_tracked`(표의 「센 배치 수」)도 멈춥니다. `momentum`을 0으로 바꾸는 방법으로는 이 수가 멈추지 않습니다.

## 2. 드롭아웃

약 8분 · ★★☆

드롭아웃(dropout)이 있으면 두 패스의 마스크가 다릅니다.

**예측.** 드롭아웃 0.3인 모델에서 두 번째 패스의 마스크가 바뀌면 $h$가 달라집니다. 그 차이는, 같은 마스크에서 SAM이 그레이디언트(gradient)를 바꾸는 양 $\lVert h - g \rVert$의 몇 배쯤일까요?

- a: 10분의 1
- b: 1배쯤
- c: 세 배가 넘습니다.
"""

# %% tags=["predict"]
predict("04-9")


# %%
def masked_gradient(model, w, batch, mask_seed):
    torch.manual_seed(mask_seed)
    return gradient_at(model, w, [batch])


dropout_rows = []
for seed in range(12):
    model = make_model(seed, nn.Dropout(0.3))
    batch = make_batches(seed, count=1, batch_size=64)[0]
    w = flat(model.parameters())
    g = masked_gradient(model, w, batch, mask_seed=0)
    peak = w + 0.05 * g / g.norm()
    same, other = (masked_gradient(model, peak, batch, mask_seed) for mask_seed in [0, 1])
    dropout_rows.append((relative_error(g, same), relative_error(other, same)))

# %% tags=["folded"]
# 표와 확인: 시드 12개의 중앙값
sam_effect, mask_effect = (median(column) for column in zip(*dropout_rows, strict=True))
show_table(
    ["h를 바꾸는 것 (시드 12개의 중앙값)", "h의 상대 변화"],
    [
        ["올라가기 (SAM이 하려는 일)", f"{sam_effect:.1%}"],
        ["두 번째 패스의 다른 마스크", f"{mask_effect:.1%}"],
    ],
)
assert all(mask > 3 * climb for climb, mask in dropout_rows)
reveal("04-9")

# %% [markdown]
r"""
마스크가 다르면 $g$와 $h$는 서로 다른 모델의 그레이디언트인 셈입니다. 같은 마스크를 쓰려면 첫 번째 패스를 시작할 때의 난수 상태를 적어 두었다가 두 번째 패스 앞에서 되돌립니다. 누적이어도 구간마다 한 번이면 됩니다. 두 패스가 마이크로 배치를 같은 순서로 보기 때문입니다.
"""

# %%
model = make_model(8, nn.Dropout(0.3))
window = make_batches(seed=8, count=4)
with torch.random.fork_rng():  # 블록이 끝나면 난수 상태가 블록 앞으로 돌아갑니다
    first = [model(xb) for xb, _ in window]
second = [model(xb) for xb, _ in window]
third = [model(xb) for xb, _ in window]
assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
assert not any(torch.equal(a, b) for a, b in zip(second, third, strict=True))
print("fork_rng로 감싼 첫 번째 패스와 두 번째 패스의 마스크가 같습니다.")

# %% [markdown]
r"""
마스크가 다르다고 틀린 것은 아닙니다. 업데이트마다 잡음이 더 섞이는 것이고, 구현마다 선택이 다릅니다. 다만 **다르다는 것을 알고** 골라야 합니다. 이 강의의 채점기는 두 방법을 모두 받습니다.

## 3. 첨예도를 재는 코드

약 5분 · ★★☆

순전파를 두 번 하는 것은 학습만이 아닙니다. 첨예도(sharpness)를 재는 가장 간단한 방법도 SAM이 올라가는 바로 그 걸음입니다. 그레이디언트 방향으로 $\rho$만큼 올라갔을 때 손실(loss)이 얼마나 커질까요?

$$ S_\rho(w) = L\!\left(w + \rho \frac{g}{\lVert g \rVert}\right) - L(w) $$

재는 코드는 **아무것도 남기지 말아야 합니다.** 가중치만 되돌리면 될 것 같지만 `.grad`, 모드, 이동 통계량, 난수 상태도 있습니다. 두 손실은 같은 난수 상태에서 재야 합니다. 드롭아웃 마스크가 다르면 위에서 본 것처럼 마스크의 차이를 재게 됩니다.

### 연습. `sharpness`

약 30분 · ★★☆

`.grad`에 더하지 않고 그레이디언트만 얻으려면 `torch.autograd.grad(loss, params)`를 씁니다. `torch.random.fork_rng()`는 블록이 끝나면 난수 상태를 되돌립니다.
"""


# %% tags=["exercise:sharpness"]
def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    """L(w + ρ·g/‖g‖) − L(w)를 float로 돌려줍니다. 들어올 때의 모드와 난수 상태에서 두 손실을 잽니다.

    가중치, 그레이디언트, 모드, 난수 상태, 배치 정규화의 이동 통계량(num_batches_tracked까지)을 들어올 때 그대로 둡니다.
    얼린 매개변수(requires_grad=False)는 얼린 채로 둡니다.
    """
    # BEGIN SOLUTION
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.detach().clone() for p in params]
    buffers = [b.clone() for b in model.buffers()]

    # fork_rng: 블록이 끝나면 난수 상태가 블록 앞으로 돌아갑니다
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    # .grad에 더하지 않고 그레이디언트만 받습니다
    grads = torch.autograd.grad(loss, params)
    norm = math.sqrt(sum(g.square().sum() for g in grads))

    with torch.no_grad():
        for p, g in zip(params, grads, strict=True):
            p.add_(g * (rho / (norm + 1e-12)))
        # 같은 난수 상태에서 다시 재므로 드롭아웃 마스크도 같습니다
        with torch.random.fork_rng():
            perturbed_loss = loss_fn(model(xb), yb)
        for p, w in zip(params, weights, strict=True):
            p.copy_(w)
        for b, before in zip(model.buffers(), buffers, strict=True):
            b.copy_(before)
    return perturbed_loss.item() - loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sharpness)

# %% [markdown]
r"""
## 4. 스케일과 ASAM

약 8분 · ★★☆

이 측정법은 거리 $\rho$를 가중치에서 잽니다. 그러면 가중치의 스케일이 문제가 됩니다. ASAM은 $e$를 이렇게 정합니다. 제곱과 절댓값은 성분마다 구하고, $\odot$은 성분끼리의 곱입니다.

$$ e = \rho \, \frac{w^2 \odot g}{\lVert\, |w| \odot g \,\rVert} $$

편향이 없는 ReLU 모델에서 앞 계층(layer)의 가중치에 10을 곱하고 뒤 계층의 가중치를 10으로 나누면, 계산하는 함수는 똑같습니다.

**예측.** 스케일을 바꾼 모델에서 $L(w + e) - L(w)$를 잽니다. 바꾸기 전과 값이 같은 것은 어느 쪽일까요?

- a: 둘 다 그대로입니다. 함수가 같기 때문입니다.
- b: SAM만 그대로입니다.
- c: ASAM만 그대로입니다.
"""

# %% tags=["predict"]
predict("04-4")


# %%
def rise(model, batch, rho, *, adaptive):
    """L(w + e) - L(w)입니다."""
    w, g = flat(model.parameters()), gradient_at(model, flat(model.parameters()), [batch])
    e = rho * w**2 * g / (w.abs() * g).norm() if adaptive else rho * g / g.norm()
    with torch.no_grad():
        before = loss_fn(model(batch[0]), batch[1]).item()
        set_weights(model, w + e)
        after = loss_fn(model(batch[0]), batch[1]).item()
    set_weights(model, w)
    return after - before


# %%
torch.manual_seed(3)
relu_model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 10, bias=False))
relu_model = relu_model.to(device).double()
batch = make_batches(seed=3, count=1, batch_size=256)[0]
logits_before = relu_model(batch[0])
before = {name: rise(relu_model, batch, 0.2, adaptive=name == "ASAM") for name in ["SAM", "ASAM"]}
with torch.no_grad():
    relu_model[0].weight *= 10
    relu_model[2].weight /= 10
after = {name: rise(relu_model, batch, 0.2, adaptive=name == "ASAM") for name in ["SAM", "ASAM"]}

# %% tags=["folded"]
# 표와 확인: 스케일을 바꾸기 전과 뒤
show_table(
    ["올라가는 법", "바꾸기 전의 L(w + e) − L(w)", "스케일을 바꾼 뒤"],
    [[name, f"{before[name]:.4f}", f"{after[name]:.4f}"] for name in before],
)
assert torch.allclose(logits_before, relu_model(batch[0]), atol=1e-9)  # 함수는 그대로입니다
assert abs(after["ASAM"] / before["ASAM"] - 1) < 1e-9
assert after["SAM"] > 1.5 * before["SAM"]
reveal("04-4")

# %% [markdown]
r"""
스케일이 달라지면 SAM의 「거리 $\rho$」는 뜻이 달라집니다. ASAM은 성분마다 가중치의 크기에 맞추어 올라가므로 뜻이 그대로입니다. SAM이 재는 「가파름」에는 함수의 성질과 가중치의 스케일이 섞여 있습니다. 첨예도를 비교할 때 이것을 기억하세요.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 배치 정규화와 드롭아웃을 두 패스 가운데 어디에서 어떻게 둘지 정합니다.
- 아무것도 남기지 않고 첨예도를 잽니다.
- 가중치의 스케일이 첨예도를 바꾼다는 것을 압니다.

측정 도구가 생겼으니 여기서 쉬어도 좋습니다. [다음: 정말 더 평탄할까요](6_flatter.ipynb)에서 SGD와 SAM이 찾은 해를 이것으로 잽니다.
"""
