# %% [markdown]
r"""
# 두 패스 모두 구간을 전부

[오류 없이 돌아가는 코드](1_silent_bug.ipynb)의 `tempting_loop`는 두 번째 패스(pass)에서 마지막 마이크로 배치(micro-batch)만 보고 업데이트했습니다. 얼마나 틀렸는지 재려면 비교할 것이 필요합니다. 두 번째 패스를 아예 하지 않는 **보통의 누적**입니다.

**예측.** 마이크로 배치 네 개짜리 구간(window)에서, 바른 SAM의 그레이디언트(gradient)에 더 가까운 것은 어느 쪽일까요?

- a: 보통의 누적
- b: `tempting_loop`. 마지막 배치만 보더라도 $w + e$에서 구했습니다.
- c: 둘이 비슷합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 분류기와 비교할 루프
from itertools import islice
from statistics import median

import torch
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.loops import (
    compare_gradients,
    plain_loop,
    recipe,
    tempting_loop,
    train_losses,
    vector_loop,
)
from grader.experiments.sam_accumulation.pictures import errors_by_size
from grader.experiments.sam_accumulation.two_passes import clipped_weights, twenty_updates
from grader.experiments.sam_accumulation.vectors import apart
from grader.plots import show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("04-2")

# %%
SIZES = [1, 2, 4, 8, 16]
measured = {size: compare_gradients(size) for size in SIZES}  # 100번 업데이트한 모델에서, 시드 12개

# %% tags=["folded"]
# 표와 그림: 구간의 길이마다 시드 12개
show_table(
    [
        "구간의 길이",
        "tempting_loop: 상대 오차",
        "tempting_loop: 코사인",
        "보통의 누적: 상대 오차",
        "보통의 누적: 코사인",
    ],
    [[size, *(f"{median(column):.2f}" for column in measured[size])] for size in SIZES],
)
show(
    errors_by_size(measured),
    "왼쪽: 구간의 길이가 1이면 tempting_loop의 오차가 0이지만 2부터 1에 가깝거나 넘습니다. 보통의 누적은 줄곧 0.3 아래입니다. "
    "오른쪽: tempting_loop의 코사인은 1에서 0.6쯤으로 떨어지고, 보통의 누적은 1에 가깝습니다. 띠는 시드(seed) 12개의 범위입니다.",
)
assert max(measured[1][0]) < 1e-12  # 구간의 길이가 1이면 버그가 드러나지 않습니다
for size in SIZES[2:]:
    wrong, wrong_cosine, plain, plain_cosine = measured[size]
    assert median(wrong) > 0.8
    assert median(wrong_cosine) < 0.8
    assert median(plain) < 0.5
    assert median(plain_cosine) > 0.95
    assert all(bad > good for bad, good in zip(wrong, plain, strict=True))
reveal("04-2")

# %% [markdown]
r"""
## 1. 손실 곡선에는 보이지 않습니다

약 7분 · ★☆☆

구간의 길이가 1이면 오차가 0입니다. 그래서 누적 없이 시험하면 이 버그는 보이지 않습니다. 2개부터는 크게 어긋나고, 더 길게 누적해도 나아지지 않습니다. 누적하는 까닭은 마이크로 배치 하나의 잡음을 평균으로 줄이려는 것인데, 업데이트에는 하나의 잡음이 그대로 들어갑니다. **유효 배치 크기(effective batch size)가 네 배로 늘지 않고 그대로입니다.**

손실(loss) 곡선으로는 알 수 없을까요? 세 루프로 나란히 학습해 봅니다.
"""

# %%
LOOPS = {"바른 SAM": vector_loop, "tempting_loop": tempting_loop, "보통의 누적": plain_loop}
curves = {name: [train_losses(loop, seed) for seed in range(6)] for name, loop in LOOPS.items()}

# %% tags=["folded"]
# 표: 60번 업데이트하며 12번마다 잰 학습 손실, 시드 6개의 중앙값
show_table(
    ["루프 (시드 6개의 중앙값)", *(f"{12 * (k + 1)}번째" for k in range(5))],
    [
        [name, *(f"{median(column):.3f}" for column in zip(*runs, strict=True))]
        for name, runs in curves.items()
    ],
)
for runs in curves.values():
    assert all(curve[-1] < 0.5 * curve[0] for curve in runs)  # 셋 다 「손실이 내려갑니다」

# %% [markdown]
r"""
셋 다 손실이 내려갑니다. 여기서도 **손실이 내려간다는 것은 루프가 맞는다는 증거가 아닙니다.** 업데이트가 무엇으로 만들어졌는지를 보아야 압니다.

## 2. 누적한 SAM의 식

약 8분 · ★★☆

한 구간의 평균 손실을 $L = \frac1N \sum_k L_k$라고 하면, 레슨 01에서 본 식이 두 번 나옵니다.

$$
g = \frac1N \sum_{k=1}^{N} \nabla L_k(w), \qquad
e = \rho \frac{g}{\lVert g \rVert}, \qquad
h = \frac1N \sum_{k=1}^{N} \nabla L_k(w + e)
$$

두 번째 합이 끝날 때까지 가중치(weight)는 $w + e$에 머물러야 하고, 그동안 마이크로 배치를 처음부터 다시 보아야 합니다. 로더는 한 번 지나간 배치를 다시 주지 않으므로 **구간의 입력을 들고 있습니다.**

이렇게 하면 구간을 이어 붙인 큰 배치의 SAM과 같을까요? 잘 알려진 구현의 저장소에는 서로 다른 답이 있습니다. 2020년에는 누적 코드를 보고 「맞는 방법」이라고 했고([#3](https://github.com/davda54/sam/issues/3)), 2022년에는 「이 구현으로는 할 수 없다」고 했습니다([#62](https://github.com/davda54/sam/issues/62)). 재 보면 됩니다.
"""

# %%
gaps = [apart(twenty_updates(seed, joined=True), twenty_updates(seed, joined=False)) for seed in range(6)]
print(f"20번 업데이트한 뒤 가중치의 최대 차이 (시드 6개): {max(gaps):.1e}")
assert max(gaps) < 1e-13  # float64의 반올림뿐입니다

# %% [markdown]
r"""
반올림만큼만 다릅니다. 누적한 SAM은 큰 배치의 SAM과 **같습니다.** 조건이 둘 있습니다. 두 패스가 모두 구간 전체를 보고, **마이크로 배치의 크기가 모두 같아야 합니다.** 위의 식은 마이크로 배치마다의 평균을 다시 평균 내므로, 크기가 다르면 작은 배치의 샘플이 더 크게 반영됩니다.

## 3. 클리핑은 어디에 둘까요

약 8분 · ★★☆

`tempting_loop`에 그레이디언트 클리핑(gradient clipping)을 더한다면, 보통의 누적에서처럼 역전파(backward pass)가 끝난 자리, 곧 `first_step()` 바로 앞에 넣기 쉽습니다.

**예측.** `first_step()` 앞에서만 클리핑합니다. 20번 업데이트한 가중치는 어떨까요?

- a: 클리핑이 없는 것과 같습니다.
- b: `second_step()` 앞에서 클리핑한 것과 같습니다.
- c: 어느 쪽과도 다릅니다.
"""

# %% tags=["predict"]
predict("04-7")

# %%
# 이어 붙인 배치로 SAM을 20번 하며, 첫 번째와 두 번째 패스 다음에 클리핑할지를 정합니다. max_norm은 0.2입니다
no_clip, norms = clipped_weights(first=False, second=False)
after_second, _ = clipped_weights(first=False, second=True)
cases = {
    "첫 번째 패스 다음에만": clipped_weights(first=True, second=False)[0],
    "두 번째 패스 다음에만": after_second,
    "두 곳 모두": clipped_weights(first=True, second=True)[0],
}

# %% tags=["folded"]
# 표와 확인: 클리핑하는 자리 셋
print(f"클리핑하기 전 두 번째 그레이디언트의 노름: {min(norms):.2f} ~ {max(norms):.2f}")
show_table(
    ["클리핑하는 자리", "클리핑이 없는 것과의 차이", "두 번째만 클리핑한 것과의 차이"],
    [
        [name, f"{apart(weights, no_clip):.1e}", f"{apart(weights, after_second):.1e}"]
        for name, weights in cases.items()
    ],
)
assert max(norms) > 0.4
assert apart(cases["첫 번째 패스 다음에만"], no_clip) < 1e-9
assert apart(cases["두 곳 모두"], after_second) < 1e-9
assert apart(after_second, no_clip) > 0.01
reveal("04-7")

# %% [markdown]
r"""
첫 번째 그레이디언트는 **방향만** 쓰이고, 노름(norm) 클리핑은 길이만 줄입니다. 그래서 클리핑은 업데이트가 되는 그레이디언트, 곧 두 번째 패스의 것에 해야 합니다. 첫 번째에만 클리핑하는 코드는 클리핑을 하는 것처럼 보이지만 튀는 배치(outlier batch)를 막지 못합니다.

값마다 따로 범위를 제한하는 `clip_grad_value_`는 방향을 바꾸므로 첫 번째 패스에서도 결과가 달라집니다.

### 연습. `sam_accumulate`

약 40분 · ★★★

이제 `tempting_loop`를 고칩니다. `micro_batches`는 제너레이터일 수 있으니 두 번 돌 수 없습니다. 한 구간씩 꺼내어 들고 있으세요. 마지막 구간이 짧으면 실제 개수로 나눕니다. 클리핑하는 자리는 방금 보았습니다. 마이크로 배치의 크기는 모두 같습니다.
"""


# %% tags=["exercise:sam_accumulate"]
def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    """마이크로 배치 accum_steps개(한 구간)마다 SAM 업데이트를 한 번 하고, 구간마다의 손실을 리스트로 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(한 번만 돌 수 있습니다).
        마이크로 배치의 크기(샘플 수)는 모두 같습니다. 하나도 없으면 업데이트하지 않고 빈 리스트를 돌려줍니다.
    max_norm: 값이 있으면(0.0도) 구간마다 한 번, 업데이트에 쓸 그레이디언트를 줄입니다.

    모드는 받은 그대로 둡니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    두 패스 모두 구간의 마이크로 배치를 전부 봅니다. 마지막 구간이 짧으면 거기에 있는 것으로 평균을 냅니다.
    돌려주는 손실은 w에서 잰 것의 구간 평균입니다. 크기가 모두 같으므로, 구간을 이어 붙인 배치에 sam_step을 한 것과 같습니다.
    """
    # BEGIN SOLUTION
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    # 구간을 리스트로 들고 있어야 두 번 볼 수 있습니다
    while window := list(islice(stream, accum_steps)):
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            window_loss += loss.item() / len(window)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            perturbed_loss = loss_fn(model(xb), yb)
            (perturbed_loss / len(window)).backward()
        # 업데이트에 쓰이는 것은 두 번째 그레이디언트입니다
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
    # END SOLUTION


# %% tags=["check"]
check(sam_accumulate)

# %% [markdown]
r"""
다 썼으면 `recipe`로 확인해 보세요. `tempting_loop`에서는 `[0, 0, 0, 1]`이었습니다.
"""

# %%
try:
    print("h1, h2, h3, h4가 들어간 양:", recipe(sam_accumulate))
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"sam_accumulate를 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
## 4. 버그 찾기: 나누지 않은 두 패스

약 5분 · ★★☆

두 패스 모두 구간의 길이로 나누기를 빠뜨렸습니다. 마이크로 배치 네 개입니다. 바른 업데이트와 비교하면 어떨까요? 고른 다음 실행하세요.

- a: 올라가는 거리도 업데이트도 네 배입니다.
- b: 올라가는 거리는 같고, 업데이트가 네 배입니다.
- c: 올라가는 거리가 네 배이고, 업데이트는 같습니다.
"""


# %% tags=["find-the-bug"]
def undivided_loop(model, sam, loss_fn, window, accum_steps):
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
    sam.first_step(zero_grad=True)
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
    sam.second_step(zero_grad=True)


# %% tags=["predict"]
predict("04-bug4")

# %%
undivided = recipe(undivided_loop)
print("h1, h2, h3, h4가 들어간 양:", undivided)

# %% tags=["folded"]
# 확인: 그레이디언트마다 들어간 양
assert undivided == [1.0] * 4  # 바른 SAM은 0.25씩입니다. 같은 w + e의 그레이디언트로 꼭 풀립니다
reveal("04-bug4")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

첫 번째 패스는 나누지 않아도 맞으므로, 두 번째 패스도 그럴 것이라고 생각하기 쉽습니다. 구별하는 법은 하나입니다. **그 그레이디언트를 누가 읽을까요?** 첫 번째 것은 방향만 읽히고, 두 번째 것은 그대로 옵티마이저(optimizer)가 읽습니다. base 옵티마이저가 AdamW이면 네 배가 거의 지워져서 이 버그가 더욱 드러나지 않습니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 두 패스가 모두 구간 전체를 보는 누적을 쓰고, 큰 배치와 같은지 잽니다.
- 클리핑과 나누기가 어느 패스에서 뜻을 갖는지 압니다.

SAM과 누적을 만드는 일은 끝났습니다. 하루를 여기서 마치기에 좋습니다. [다음: 다른 누적과 그 비용](4_other_windows.ipynb)에서는 크기가 다른 배치와, 배치마다 올라가는 방법을 봅니다.
"""
