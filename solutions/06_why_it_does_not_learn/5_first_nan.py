# %% [markdown]
r"""
# 첫 NaN을 찾아서

약 5분 · ★★☆

빈 사진이 한 장 섞인 배치로 NaN을 만듭니다. 손실(loss)이 언제 NaN이 될지 골라 보세요.

아래의 `Scale`은 사진마다 `first`의 출력을 그 크기(제곱의 평균의 제곱근)로 나누어, 크기를 1로 맞추는 계층입니다. 빈 사진이면 크기가 0이니, 0으로 나누지 않으려고 `1e-6`을 더했습니다. 모델은 편향(bias) 없는 선형 계층 `first`, `scale`, `relu`, 선형 계층 `head`입니다. 60스텝(step) 가운데 한 배치에 픽셀이 모두 0인 사진 한 장이 섞여 있습니다.

**예측.** 손실은 언제 NaN이 될까요?

- a: 빈 사진이 든 배치에서 바로 됩니다.
- b: 빈 사진이 든 배치의 다음 스텝에서 됩니다.
- c: 되지 않습니다. `1e-6`을 더했으니 0으로 나누지 않습니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 빈 사진이 한 장 섞인 숫자 사진
import warnings

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import loss_fn, sgd
from grader.experiments.why_it_does_not_learn.nan_hunt import (
    SEEDS,
    anomaly,
    batches_with_blank,
    first_nan,
    layers_that_spoil,
    make_model,
    nan_share,
    train,
)
from grader.plots import show_table

torch.set_num_threads(1)


# %%
class Scale(nn.Module):
    def forward(self, x):
        size = x.square().mean(dim=1, keepdim=True).sqrt()
        return x / (size + 1e-6)


# %% tags=["predict"]
predict("06-14")

# %%
rows = []
for seed in SEEDS:
    batches, blank_step, _ = batches_with_blank(seed)
    losses = train(make_model(seed, Scale()), batches)
    rows.append([seed, blank_step, losses[blank_step], first_nan(losses)])

# %% tags=["folded"]
# 표와 확인: 빈 사진이 든 스텝과 손실이 처음 NaN인 스텝, 시드 6개
show_table(["시드", "빈 사진이 든 스텝", "그 스텝의 손실", "손실이 처음 NaN인 스텝"], rows)
assert all(0 < loss < 1 for _, _, loss, _ in rows)
assert all(nan_step == blank_step + 1 for _, blank_step, _, nan_step in rows)
reveal("06-14")

# %% [markdown]
r"""
## 1. 순전파는 멀쩡하고 역전파만 NaN

약 8분 · ★★☆

빈 사진의 순전파(forward pass)는 $0 / (0 + 10^{-6}) = 0$이라 멀쩡합니다. 역전파(backward pass)는 다릅니다. $\sqrt{s}$의 미분은 $1 / (2\sqrt{s})$이고, $s = 0$에서 무한대입니다. 그런데 그 무한대에는 0이 곱해집니다. 크기의 그레이디언트는 $-x / (\text{크기} + 10^{-6})^2$을 더한 것이라 $x = 0$에서 0이고, $0 \times \infty$는 NaN입니다. 이 NaN이 `first`의 그레이디언트(gradient)가 되고, 업데이트가 그것을 가중치(weight)에 넣고, **다음 스텝의 순전파에서야** 손실이 NaN이 됩니다. 로그에서 NaN이 처음 보인 스텝의 배치를 뒤져도 빈 사진은 나오지 않습니다.

빈 사진을 막는 방법 네 가지를 비교합니다. 실행하기 전에, 그레이디언트까지 유한한 것은 어느 것일지 골라 두세요.
"""


# %%
def size(x):
    return x.square().mean(dim=1, keepdim=True).sqrt()


ways = {
    "막지 않음": lambda x: x / size(x),
    "나누는 수에 더하기": lambda x: x / (size(x) + 1e-6),
    "`where`로 고르기": lambda x: torch.where(size(x) > 0, x / size(x), 0.0),
    "제곱근 안에 더하기": lambda x: x / (x.square().mean(dim=1, keepdim=True) + 1e-6).sqrt(),
}

# %% tags=["folded"]
# 표와 확인: 빈 사진의 출력과 그레이디언트
rows = []
for name, scale in ways.items():
    blank = torch.zeros(1, 4, requires_grad=True)
    scaled = scale(blank)
    scaled.sum().backward()
    rows.append([name, *("유한" if found.isfinite().all() else "NaN" for found in (scaled, blank.grad))])
show_table(["방법", "출력", "그레이디언트"], rows)
assert [row[1] for row in rows] == ["NaN", "유한", "유한", "유한"]
assert [row[2] for row in rows] == ["NaN", "NaN", "NaN", "유한"]

# %% [markdown]
r"""
출력은 셋이 유한하지만 그레이디언트는 하나만 유한합니다. `where`는 나쁜 값을 걸러 내지만, 역전파는 고르지 않은 쪽의 식도 지나며 0에 NaN을 곱합니다. **고르기 전에 나쁜 값이 생기지 않아야 합니다.** 작은 수는 제곱근 안에 더합니다. `nn.LayerNorm`과 `nn.RMSNorm`도 `eps`를 제곱근 안에 더합니다.
"""


# %%
class SafeScale(nn.Module):
    def forward(self, x):
        return x / (x.square().mean(dim=1, keepdim=True) + 1e-6).sqrt()


for seed in SEEDS:
    losses = train(make_model(seed, SafeScale()), batches_with_blank(seed)[0])
    print(f"시드 {seed}: 60스텝째의 손실 {losses[-1]:.2f}")
    assert first_nan(losses) is None, "제곱근 안에 더하면 끝까지 유한합니다"

# %% [markdown]
r"""
## 2. 클리핑하면 어디까지 번질까요

약 8분 · ★★☆

빈 사진이 든 스텝에서 역전파를 하면 `first`의 그레이디언트는 모두 NaN입니다. 배치의 사진마다 구한 것을 더하는데, NaN에 빈 사진의 픽셀 0을 곱해도 NaN이기 때문입니다. 더 뒤에 있는 `head`의 그레이디언트는 모두 유한합니다. 이때 클리핑(clipping)이 켜져 있습니다.

```python
loss.backward()
clip_grad_norm_(model.parameters(), 1.0)
opt.step()
```

**예측.** 이 스텝이 끝나면 무엇이 NaN일까요?

- a: `first`의 가중치만. `head`의 그레이디언트는 유한하니 `head`는 멀쩡합니다.
- b: 아무것도 아닙니다. 너무 큰 그레이디언트는 노름(norm)이 1이 되도록 줄어듭니다.
- c: `first`와 `head`의 매개변수(parameter) 모두.
"""

# %% tags=["predict"]
predict("06-15")

# %%
shares = {}
for name, max_norm in [("클리핑 없음", None), ("클리핑 1.0", 1.0)]:
    shares[name] = []
    for seed in SEEDS:
        batches, blank_step, _ = batches_with_blank(seed)
        model = make_model(seed, Scale())
        train(model, batches[: blank_step + 1], max_norm)
        shares[name].append([nan_share(list(layer.parameters())) for layer in (model.first, model.head)])

# %% tags=["folded"]
# 표와 확인: 그 스텝이 끝난 뒤 NaN인 매개변수의 비율, 시드 6개 모두 같습니다
for seen in shares.values():
    assert all(pair == seen[0] for pair in seen)
show_table(
    ["", "`first`", "`head`"],
    [[name, *(f"{share:.0%}" for share in seen[0])] for name, seen in shares.items()],
)
assert shares["클리핑 없음"][0] == [1.0, 0.0]
assert shares["클리핑 1.0"][0] == [1.0, 1.0]
reveal("06-15")

# %% [markdown]
r"""
노름은 모든 그레이디언트를 통틀어 하나입니다. 하나라도 NaN이면 노름이 NaN이고, 곱하는 비율도 NaN이라 **모두 NaN이 됩니다.** 무한대라면 비율이 0이라 유한하던 것은 0이 되고, 무한대만 NaN이 됩니다. 어디에서 시작했는지 알려 줄 흔적이 여기서 지워집니다. 그래서 줄이기 전에 멈춥니다. `error_if_nonfinite=True`는 노름이 유한하지 않으면 그레이디언트를 건드리지 않고 오류를 냅니다. 오류를 낼지 정하려면 노름의 값을 알아야 하므로, GPU에서는 스텝마다 그때까지의 계산이 끝나기를 기다립니다.
"""


# %%
def train_until_nan(model, batches):
    opt = sgd(model.parameters())
    for step, (xb, yb) in enumerate(batches):
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        try:
            clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        except RuntimeError:
            return step
        opt.step()


# %% tags=["folded"]
# 실행과 확인: 멈춘 스텝, 그때의 가중치와 head의 그레이디언트, 시드 6개
stopped = []
for seed in SEEDS:
    batches, blank_step, _ = batches_with_blank(seed)
    model = make_model(seed, Scale())
    step = train_until_nan(model, batches)
    stopped.append((model, step))
    assert step == blank_step
    assert nan_share(list(model.parameters())) == 0
    assert nan_share([model.first.weight.grad]) == 1
    assert nan_share([p.grad for p in model.head.parameters()]) == 0
print("멈춘 스텝:", " · ".join(str(step) for _, step in stopped))

# %% [markdown]
r"""
역전파에서 생긴 NaN이라면, 손실을 보고 멈추면 한 스텝 늦지만 노름을 보고 멈추면 **범인인 배치와 아직 유한한 가중치**가 손에 남습니다. 이 둘이 있어야 다시 실행하며 찾을 수 있습니다. 드롭아웃이나 배치 정규화가 있다면 난수의 상태와 버퍼도 필요합니다.

언제 멈출지는 정해졌습니다. 여기서 쉬어 가도 됩니다. 다음은 어디인지를 찾습니다.

## 3. NaN은 어느 계층에서 나왔을까요

약 12분 · ★★☆

먼저 순전파에서 NaN이 나는 모델을 봅니다. 아무것도 더하지 않은 `x / size`를 씁니다. 레슨 03에서는 출력만 보았고, 이번에는 입력도 함께 봅니다. 순전파 훅(forward hook)은 계층의 순전파가 끝날 때마다 호출되는 함수이고, 계층과 입력들과 출력을 받습니다.
"""


# %%
class Divide(nn.Module):
    def forward(self, x):
        return x / size(x)


def look_at_layers(model, batch):
    def look(name, inputs, output):
        seen.append((name, inputs[0].isfinite().all().item(), output.isfinite().all().item()))

    seen = []
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda _, inputs, output, name=name: look(name, inputs, output))
    model(batch)
    return seen


# %% tags=["folded"]
# 표와 확인: 빈 사진이 든 배치에서 계층마다 입력과 출력, 시드 0
batches, blank_step, _ = batches_with_blank(0)
model = make_model(0, Divide())
xb, _ = batches[blank_step]
seen = look_at_layers(model, xb)
words = {True: "유한", False: "NaN"}
show_table(["계층", "입력", "출력"], [[name, words[before], words[after]] for name, before, after in seen])
assert seen == [
    ("first", True, True),
    ("scale", True, False),
    ("relu", False, False),
    ("head", False, False),
]

# %% [markdown]
r"""
출력이 NaN인 계층은 셋이지만, **유한한 입력으로 NaN을 낸 계층은 `scale` 하나입니다.** 나머지는 받은 것을 넘겨주었을 뿐입니다.

`look_at_layers`를 같은 모델에 한 번 더 부르면 모델에 훅이 몇 개 달려 있을까요? 적어 본 다음 실행합니다.
"""

# %%
look_at_layers(model, xb)
count = sum(len(layer._forward_hooks) for layer in model.children())
print(f"모델에 달린 훅: {count}개")
assert count == 2 * len(list(model.children())), "부를 때마다 계층마다 하나씩 쌓입니다"

# %% [markdown]
r"""
훅은 지울 때까지 남아, 그 뒤의 모든 순전파에서 불립니다. 진단하려고 부른 함수가 학습을 바꾸면 진단한 것이 아닙니다. 배치 정규화(batch normalization)의 통계량은 버퍼(buffer)이고, 학습 모드의 순전파 한 번에 바뀝니다. 또 드롭아웃(dropout)은 난수를 씁니다. 둘을 담아 두었다가 되돌려 봅니다. 실행하기 전에, **담을 때 `clone()`을 빼도 되돌아올지** 적어 두세요.
"""

# %%
noisy = nn.Sequential(nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Dropout()).double()


def forward_and_restore(keep):
    kept = [keep(buffer) for buffer in noisy.buffers()]
    rng = torch.get_rng_state()
    noisy(xb)
    for buffer, old in zip(noisy.buffers(), kept, strict=True):
        buffer.copy_(old)
    torch.set_rng_state(rng)


# %% tags=["folded"]
# 표와 확인: 순전파 한 번 뒤의 통계량과 난수
def trace_left(keep):
    noisy[1].reset_running_stats()
    torch.manual_seed(0)
    forward_and_restore(keep)
    same_rng = torch.equal(torch.get_rng_state(), torch.Generator().manual_seed(0).get_state())
    return noisy[1].running_mean.abs().max().item(), noisy[1].num_batches_tracked.item(), same_rng


rows = []
for name, keep in [("`buffer.clone()`", torch.clone), ("`buffer`", lambda buffer: buffer)]:
    mean, count, same_rng = trace_left(keep)
    rows.append([name, f"{mean:.2f}", count, "그대로" if same_rng else "바뀜"])
show_table(["담은 것", "평균 (처음은 0)", "센 배치 (처음은 0)", "난수"], rows)
assert [row[2:] for row in rows] == [[0, "그대로"], [1, "그대로"]]
assert rows[0][1] == "0.00" != rows[1][1]

# %% [markdown]
r"""
`clone()` 없이 담은 것은 복사본이 아니라 같은 텐서라서 함께 바뀝니다. 난수는 `with torch.random.fork_rng():`로 감싸도 됩니다. 블록을 나올 때 들어갈 때의 상태로 되돌립니다. 순전파가 오류로 끝나면 그 아래의 되돌리는 줄은 실행되지 않으니, 반드시 할 일은 `try … finally`의 `finally`에 둡니다.

연습에는 하나가 더 있습니다. 위의 모델은 계층이 한 겹이라 `named_children()`이면 되었지만, 모듈 안에 모듈이 있는 모델이라면 그 안까지 들어가야 합니다. 모델 자신이 계층 하나이면 이름은 빈 문자열 `""`입니다. 그리고 흔적을 남기지 않는 것까지 만듭니다. 그 전에 쉬어도 좋습니다.

### 연습. `first_bad_layer`

약 30분 · ★★★
"""


# %% tags=["exercise:first_bad_layer"]
def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    """model(batch)을 받은 모드 그대로 한 번 실행해, 유한한 입력으로 유한하지 않은 값을 처음 낸 계층의 이름을 돌려줍니다.

    계층은 안에 다른 모듈이 없는 모듈이고, 이름은 named_modules()의 이름입니다. 입력과 출력은 텐서 하나이고, 계층은 받은 텐서를 제자리에서 고치지 않습니다.
    유한하지 않은 값은 NaN, 양의 무한대, 음의 무한대입니다. 그런 계층이 없으면 None입니다.
    batch에 이미 유한하지 않은 값이 있으면, 그것을 받은 계층은 답이 아닙니다. 여러 번 불리는 계층은 처음 잘못된 호출을 기준으로 합니다.

    모델과 난수는 부르기 전과 같습니다: 모드, 매개변수, 버퍼(배치 정규화의 통계량도), `.grad`, 훅, 난수 상태.
    순전파 도중에 오류가 나도 그렇습니다. 그때까지 찾은 것이 있으면 그 이름을 돌려주고, 없으면 그 오류를 그대로 냅니다.
    """
    # BEGIN SOLUTION
    found = []

    def watch(name):
        def look(layer, inputs, output):
            if not found and inputs[0].isfinite().all() and not output.isfinite().all():
                found.append(name)

        return look

    # 학습 모드의 배치 정규화는 no_grad 안에서도 통계량을 고칩니다
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(watch(name)) for name, layer in layers]
    try:
        with torch.no_grad(), torch.random.fork_rng():
            model(batch)
    except Exception:
        if not found:
            raise
    finally:
        for hook in hooks:
            hook.remove()
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
    return found[0] if found else None
    # END SOLUTION


# %% tags=["check"]
check(first_bad_layer)

# %% [markdown]
r"""
## 4. 손실이 아직 유한할 때

약 8분 · ★★☆

`Scale`(나누는 수에 `1e-6`을 더한 것)로 돌아갑니다. 2절에서 멈춘 모델의 가중치는 아직 유한하고, 빈 사진이 든 배치도 있습니다.

**예측.** 이 모델과 이 배치로 `first_bad_layer(model, xb)`를 부르면 무엇이 나올까요? 연습을 아직 통과하지 않았어도 실행되도록, 아래 셀은 같은 일을 하는 준비된 함수를 부릅니다.

- a: `None`
- b: `"scale"`
- c: `"first"`
"""

# %% tags=["predict"]
predict("06-16")

# %%
names_now, names_next = [], []
for seed, (model, step) in zip(SEEDS, stopped, strict=True):
    batches, _, _ = batches_with_blank(seed)
    names_now.append(layers_that_spoil(model, batches[step][0]))
    sgd(model.parameters()).step()  # 멈추지 않았다면 했을 업데이트
    names_next.append(layers_that_spoil(model, batches[step + 1][0]))

# %% tags=["folded"]
# 표와 확인: 유한한 입력으로 NaN을 낸 계층, 시드 6개 모두 같습니다
assert all(names == [] for names in names_now)
assert all(names == ["first"] for names in names_next)
show_table(
    ["언제", "유한한 입력으로 NaN을 낸 계층"],
    [["빈 사진이 든 배치, 업데이트하기 전", "없음"], ["다음 배치, 업데이트한 뒤", "`first`"]],
)
reveal("06-16")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

순전파에는 NaN이 없으니 훅은 아무것도 찾지 못합니다. 한 스텝 늦게 부르면 더 나쁩니다. 훅은 `first`를 가리키지만, `first`는 그레이디언트로 받은 NaN이 가중치에 들어간 **피해자**입니다. 그러니 훅이 무언가를 찾으면 그 계층의 가중치부터 봅니다. 가중치가 이미 NaN이면 한 스텝 전의 역전파에서 온 것입니다.

</details>

역전파의 NaN은 `torch.autograd.detect_anomaly()`로 찾습니다. 역전파의 연산마다 결과에 NaN이 있는지 보고, 있으면 그 연산의 이름을 오류로 냅니다. 순전파의 몇째 줄에서 온 연산인지는 경고에 적습니다. NaN만 찾고 **무한대는 지나칩니다.** 순전파도 그 안에서 해야 합니다.

```python
with torch.autograd.detect_anomaly():
    loss = loss_fn(model(xb), yb)
    loss.backward()
```

아래의 `anomaly`는 이렇게 실행해 오류와 경고를 돌려주고, 멀쩡하면 빈 문자열 둘을 돌려줍니다.
"""

# %%
batches, blank_step, _ = batches_with_blank(0)
model = make_model(0, Scale())
train(model, batches[:blank_step])
error, line = anomaly(model, *batches[blank_step])
print(error)
print("순전파의 줄:", line)
assert "SqrtBackward0" in error
assert ".sqrt()" in line
assert anomaly(make_model(0, SafeScale()), *batches[blank_step]) == ("", "")

# %% tags=["folded"]
# 확인: 무한대에는 오류를 내지 않습니다
zero = torch.zeros(1, requires_grad=True)
with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
    zero.sqrt().backward()
print("0의 제곱근의 그레이디언트:", zero.grad.item(), "(오류 없음)")
assert zero.grad.isinf()

# %% [markdown]
r"""
연산마다 값을 보고 순전파의 줄을 적어 두느라 느려집니다. 늘 켜 두지 말고, 멈춘 스텝 하나를 다시 할 때만 켭니다.

## 5. 32장 가운데 어느 사진일까요

약 6분 · ★★☆

마지막으로 데이터를 찾습니다. 배치를 반으로 나누어 NaN이 나오는 쪽만 남기기를 되풀이합니다. 32장이면 몇 번 만에 한 장이 남을까요? 적어 본 다음 실행하세요.
"""


# %%
def find_sample(model, xb, yb):
    rows, passes = list(range(len(xb))), 0
    while len(rows) > 1:
        half = rows[: len(rows) // 2]
        model.zero_grad()
        loss_fn(model(xb[half]), yb[half]).backward()
        passes += 1
        is_bad = not all(p.grad.isfinite().all() for p in model.parameters())
        rows = half if is_bad else rows[len(rows) // 2 :]
    return rows[0], passes


row, passes = find_sample(model, *batches[blank_step])
print(f"{passes}번 만에 찾은 사진: {row}번, 픽셀의 합 {batches[blank_step][0][row].sum().item()}")

# %% tags=["folded"]
# 확인: 시드 6개에서 빈 사진을 찾습니다
for seed in SEEDS:
    batches, blank_step, blank_row = batches_with_blank(seed)
    assert find_sample(make_model(seed, Scale()), *batches[blank_step]) == (blank_row, 5)

# %% [markdown]
r"""
$2^5 = 32$라서 다섯 번입니다. 나쁜 사진이 여럿이면 그 가운데 하나를 찾습니다. 배치 정규화가 있는 모델은 반으로 나눈 배치의 통계량이 달라지므로, 나누어도 NaN이 나오는지 먼저 확인합니다.

## 여기까지

이제 손실이 NaN이 되면 이 순서로 찾습니다.

1. 클리핑하기 전에 노름을 보고 멈춥니다. 배치와 유한한 가중치를 남겨 둡니다. 단, float16의 scaler는 그레이디언트가 넘친 스텝을 스스로 건너뛰니, 그때는 이어서 여러 번 넘칠 때만 멈춥니다.
2. 그 배치로 순전파 훅을 겁니다. 이름이 나오면 그 계층의 가중치가 유한한지부터 봅니다. 이름이 없으면 이렇게 나눕니다.
   - 모델의 출력이 NaN이면 계층 밖의 식을 봅니다.
   - 출력은 유한한데 손실이 NaN이면 손실의 식을 봅니다.
   - 손실까지 유한하면 역전파를 봅니다.
3. 역전파이면 `detect_anomaly`로 연산과 줄을 찾습니다. 무한대가 먼저 생겼다면 계층마다 `.grad`를 봅니다.
4. 배치를 반씩 나누어 어느 데이터인지 찾습니다.

여기서 쉬어 가도 됩니다. [다음: 손실이 튈 때](6_spikes.ipynb)에서는 그레이디언트가 유한하지만 유난히 큰 배치를 어떻게 할지 정합니다.
"""
