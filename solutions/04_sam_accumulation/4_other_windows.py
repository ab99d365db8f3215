# %% [markdown]
r"""
# 다른 누적과 그 비용

두 패스(pass)가 구간을 전부 보면 누적한 SAM은 큰 배치의 SAM과 같습니다. 이 노트북에서는 그 조건이 깨지는 누적들과, SAM에 드는 시간과 메모리를 봅니다. 먼저 지난 내용을 떠올리며 아래의 학습 루프(training loop) 전체를 읽고, 물음 3개에 답해 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 작은 분류기와 실험용 SAM(VectorSAM: 모든 가중치를 벡터 하나로 다룹니다)
import math
from itertools import islice
from statistics import mean, median

import torch
from matplotlib import pyplot as plt
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import ExponentialLR

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.cost import (
    fastest,
    one_batch_and_quarters,
    peak_saved_bytes,
    sam_update,
    sgd_update,
    wide_model,
)
from grader.experiments.sam_accumulation.digits import (
    loss_fn,
    make_batches,
    make_model,
    on_cpu,
    validation_batches,
    with_random_labels,
)
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.two_passes import micro_against_full, uneven_error
from grader.experiments.sam_accumulation.vectors import apart, flat
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)


# %% tags=["find-the-bug"]
def noisy_loop(model, sam, scheduler, train_batches, dev_batches, accum_steps, epochs, max_norm):
    dev_step_losses, dev_losses = [], []
    for epoch in range(epochs):
        model.train()
        for step, (xb, yb) in enumerate(train_batches, start=1):
            (loss_fn(model(xb), yb) / accum_steps).backward()
            if step % accum_steps == 0:
                clip_grad_norm_(model.parameters(), max_norm)  # 1
                sam.first_step(zero_grad=True)  # 2
                for _ in range(accum_steps):  # 3
                    (loss_fn(model(xb), yb) / accum_steps).backward()
                sam.second_step(zero_grad=True)
                scheduler.step()  # 4
        dev_losses.append(validate(model, dev_batches, dev_step_losses))
    return dev_losses


# %% tags=["find-the-bug"]
def validate(model, dev_batches, step_losses):
    model.eval()  # 5
    with torch.no_grad():  # 6
        step_losses += [loss_fn(model(xb), yb).item() for xb, yb in dev_batches]
    return mean(step_losses)  # 7


# %% [markdown]
r"""
**물음 1.** 업데이트를 틀리게 만드는 줄은 어느 것일까요?

- a: 1번 줄
- b: 3번 줄
- c: 4번 줄
"""

# %% tags=["predict"]
predict("04-bug1a")

# %% [markdown]
r"""
**물음 2.** 지워도 가중치(weight)가 그대로인 것은 어느 것일까요?

- a: 1번 줄
- b: 2번 줄의 `zero_grad=True`
- c: 3번 줄의 반복. 안쪽을 한 번만 실행합니다.
"""

# %% tags=["predict"]
predict("04-bug1b")

# %% [markdown]
r"""
**물음 3.** 가장 좋은 에폭(epoch)을 잘못 고르게 만드는 줄은 어느 것일까요?

- a: 5번 줄
- b: 6번 줄
- c: 7번 줄
"""

# %% tags=["predict"]
predict("04-bug1c")


# %%
def run_noisy_loop(max_norm):
    """정답의 20%를 아무 숫자로 바꾼 160장으로 24에폭 학습하고 (코드가 말한 검증 손실, 마지막 가중치)를 돌려줍니다."""
    model = make_model(seed=12)
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    batches = with_random_labels(make_batches(seed=12, count=8, batch_size=20), count=4, seed=12)
    scheduler = ExponentialLR(opt, 1.0)
    said = noisy_loop(
        model, VectorSAM(model, opt), scheduler, batches, validation_batches(120), 4, 24, max_norm
    )
    return said, flat(model.parameters())


said, weights = run_noisy_loop(max_norm=0.1)
_, without_clip = run_noisy_loop(max_norm=math.inf)

# %% tags=["folded"]
# 그림과 확인: 클리핑을 지운 것과의 차이, 두 검증 손실
# 지금까지의 평균 m에서 에폭마다의 값을 되찾습니다: k·m_k − (k−1)·m_{k−1}
true = [(k + 1) * said[k] - k * said[k - 1] if k else said[0] for k in range(len(said))]
said_best, true_best = said.index(min(said)) + 1, true.index(min(true)) + 1
print(f"클리핑을 지운 가중치와의 차이: {apart(weights, without_clip):.1e}")
print(f"코드가 고른 에폭 {said_best}, 진짜로 가장 좋은 에폭 {true_best}")

figure, axis = plt.subplots(figsize=(7.2, 3.2))
axis.plot(range(1, 25), said, "--", color=COLORS["wrong"], label="코드가 말한 검증 손실")
axis.plot(range(1, 25), true, color=COLORS["right"], label="에폭마다의 검증 손실")
axis.plot(said_best, min(said), "o", color=COLORS["wrong"], markersize=9)
axis.plot(true_best, min(true), "o", color=COLORS["right"], markersize=9)
axis.set(title="가장 좋은 에폭을 지나쳐 저장합니다", xlabel="에폭", ylabel="손실")
axis.legend()
show(
    figure,
    "코드가 말한 검증 손실은 지금까지의 평균이라 천천히 내려가서 늦은 에폭에서 가장 낮습니다. "
    "에폭마다의 검증 손실은 그보다 먼저 바닥을 치고 다시 올라갑니다. 두 점이 서로 다른 에폭에 있습니다.",
)
assert apart(weights, without_clip) < 1e-6  # 클리핑이 남긴 것은 반올림뿐입니다
assert said_best >= true_best + 3
assert true[said_best - 1] > min(true)

# %%
reveal("04-bug1a")

# %%
reveal("04-bug1b")

# %%
reveal("04-bug1c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

셋 모두 오류를 내지 않고, 손실(loss)은 내려갑니다. 이렇게 고칩니다.

1. 구간의 배치를 리스트에 모아 두었다가 두 번째 패스에서 **그 리스트를** 돕니다.
2. 클리핑을 `second_step` 바로 앞으로 옮깁니다.
3. 검증(validation) 손실의 합과 샘플 수를 에폭 안에서 0으로 시작합니다. 배치마다의 평균을 그냥 평균 내는 것도 마지막 배치가 작으면 틀립니다.

하나가 더 있습니다. 배치 수가 나누어떨어지지 않으면 마지막에 남은 배치의 그레이디언트(gradient)가 다음 에폭의 첫 구간에 섞입니다.

</details>

## 1. 크기가 다른 마이크로 배치

약 5분 · ★★☆

마이크로 배치(micro-batch)마다의 평균을 다시 평균 내면, 크기가 다를 때 작은 배치의 샘플이 더 크게 반영됩니다. 이어 붙인 배치의 SAM과 얼마나 어긋나는지 재 봅니다.
"""

# %%
uneven = {str(sizes): [uneven_error(sizes, seed) for seed in range(12)] for sizes in ([8] * 4, [8, 8, 8, 3])}

# %% tags=["folded"]
# 표와 확인: 크기가 같을 때와 다를 때, 시드 12개
show_table(
    ["마이크로 배치의 크기 (시드 12개의 중앙값)", "평균의 평균: h의 상대 오차", "크기로 가중: h의 상대 오차"],
    [
        [sizes, *(f"{median(column):.0%}" for column in zip(*errors, strict=True))]
        for sizes, errors in uneven.items()
    ],
)
assert max(max(pair) for pair in uneven["[8, 8, 8, 8]"]) < 1e-12
assert max(by_size for _, by_size in uneven["[8, 8, 8, 3]"]) < 1e-12
assert median(equal for equal, _ in uneven["[8, 8, 8, 3]"]) > 0.1

# %% [markdown]
r"""
크기가 다르면 $1/N$ 대신 (그 배치의 샘플 수) ÷ (구간의 샘플 수)를 곱해야 합니다. 로더에 `drop_last=True`를 주어 크기를 모두 같게 하는 방법도 있습니다. `sam_accumulate`와 마지막 노트북의 `train_qa`는 크기가 같은 마이크로 배치로 채점하므로, 어느 쪽으로 써도 통과합니다.

### 보너스. `sam_accumulate_weighted`

약 15분 · ★★☆

점수에 들어가지 않고, 힌트도 없습니다. 건너뛰어도 뒤는 그대로 이어집니다.

위의 [8, 8, 8, 3]처럼 **크기가 다른** 마이크로 배치를 받는 `sam_accumulate`입니다. 올라갈 방향을 정하는 그레이디언트도, 업데이트에 쓰는 그레이디언트도, 돌려주는 손실도 구간을 이어 붙인 배치의 것과 같아야 합니다. 곧 모든 샘플의 몫이 같아야 합니다. `loss_fn`은 받은 배치의 **샘플 평균**을 돌려줍니다. 나머지 약속은 연습 `sam_accumulate`와 같습니다. 부르기 전부터 남아 있던 `.grad`는 지우고 시작합니다. 모델의 모드는 받은 그대로 둡니다.
"""


# %% tags=["exercise:sam_accumulate_weighted"]
def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    """sam_accumulate와 같지만, 마이크로 배치의 크기가 서로 달라도 이어 붙인 배치에 sam_step을 한 것과 같습니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도, 비어 있을 수도 있습니다. 크기(샘플 수)가 서로 다릅니다.
    loss_fn: 받은 배치의 샘플 평균을 돌려줍니다.
    max_norm: 값이 있으면(0.0도) 구간마다(짧은 마지막 구간도) 한 번, 업데이트에 쓸 그레이디언트를 줄입니다.

    모드는 받은 그대로 둡니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    들어올 때 남아 있던 .grad는 쓰지 않습니다. 마지막 구간이 짧으면 거기에 있는 샘플로 평균을 냅니다.
    돌려주는 리스트에는 구간마다 하나씩, w에서 잰 손실의 샘플 평균이 float로 들어 있습니다.
    """
    # BEGIN SOLUTION
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    while window := list(islice(stream, accum_steps)):
        # 몫을 정하려면 구간의 샘플 수를 먼저 알아야 합니다
        total = sum(len(yb) for _, yb in window)
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss * (len(yb) / total)).backward()
            window_loss += loss.item() * (len(yb) / total)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            perturbed_loss = loss_fn(model(xb), yb)
            (perturbed_loss * (len(yb) / total)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
    # END SOLUTION


# %% tags=["check"]
check(sam_accumulate_weighted)

# %% [markdown]
r"""
## 2. 마이크로 배치마다 올라가면 안 될까요

약 10분 · ★★☆

마이크로 배치를 하나씩만 들고 있어도 되는 방법이 있습니다. 배치마다 $w + e_k$로 올라가 그레이디언트를 구하고, 곧바로 $w$로 돌아옵니다.

$$ h^{\text{micro}} = \frac1N \sum_{k=1}^{N} \nabla L_k(w + e_k), \qquad e_k = \rho \frac{g_k}{\lVert g_k \rVert} $$

**예측.** $h^{\text{micro}}$와 $h$의 차이를, SAM이 그레이디언트를 바꾸는 양 $\lVert h - g \rVert$로 나눕니다. $\rho$를 0에 가깝게 줄이면 이 비는 어떻게 될까요?

- a: 0으로 갑니다.
- b: 거의 그대로입니다.
- c: 커집니다. 반올림 때문입니다.
"""

# %% tags=["predict"]
predict("04-6")

# %%
RHOS = [1e-4, 1e-3, 1e-2, 0.05, 0.2]
found = {rho: [micro_against_full(rho, seed) for seed in range(8)] for rho in RHOS}

# %% tags=["folded"]
# 표와 확인: ρ마다 시드 8개의 중앙값
middle = {rho: [median(column) for column in zip(*rows, strict=True)] for rho, rows in found.items()}
show_table(
    ["ρ", "배치마다 올라간 h와 구간 전체의 h의 차이", "SAM이 바꾼 양", "비"],
    [
        [rho, f"{difference:.1e}", f"{effect:.1e}", f"{ratio:.2f}"]
        for rho, (difference, effect, ratio) in middle.items()
    ],
)
assert all(0.15 < ratio < 1.5 for _, _, ratio in middle.values())
assert 0.8 < middle[1e-4][2] / middle[1e-3][2] < 1.25  # 작아지다가 사라지는 오차가 아닙니다
reveal("04-6")

# %% [markdown]
r"""
$\rho$를 0.2에서 0.0001로 줄여도 비는 거의 그대로입니다. 어림의 오차라면 비가 0으로 가야 합니다. **마이크로 배치마다 올라가는 것은 SAM의 근사가 아니라 다른 알고리즘입니다.** 구간의 손실이 아니라 마이크로 배치마다의 손실을 각자의 최악에서 낮춥니다.

틀린 알고리즘은 아닙니다. 원래 논문에 m-첨예도(m-sharpness)라는 이름으로 나오고($m$은 올라갈 방향 하나를 정하는 샘플의 수입니다), GPU 여러 장에서 장치마다 따로 올라가는 방법도 여기에 듭니다. 다만 PyTorch의 DDP(장치마다 나누어 학습하는 기능)에서는 저절로 그렇게 되지 않습니다. `backward()`가 장치들의 그레이디언트를 평균 내므로 모두 같은 방향으로 올라갑니다. 장치마다 따로 올라가려면 첫 번째 패스의 순전파(forward pass)와 역전파(backward pass)를 `no_sync()` 블록 안에서 해야 하고, 두 번째 패스는 블록 밖에서 해야 합니다. 작은 $m$이 더 낫다는 보고도 있습니다. 다만 「누적과 큰 배치는 같다」를 기대하고 쓰면 안 됩니다.

## 3. 버그 찾기: 입력을 들고 있지 않는 누적

약 5분 · ★★☆

「입력을 들고 있지 않아도 되는 누적」이라는 코드입니다. 마이크로 배치마다 올라가서 두 번째 그레이디언트를 쌓고, 구간이 끝나면 되돌립니다. 마이크로 배치 네 개, **학습률 0**입니다. 가중치는 얼마나 움직일까요?

- a: 움직이지 않습니다.
- b: 꼭 $\rho$만큼
- c: $\rho$보다 멀리
"""


# %% tags=["find-the-bug"]
def climbing_loop(model, sam, window):
    for xb, yb in window:
        loss_fn(model(xb), yb).backward()
        sam.first_step(zero_grad=True)
        (loss_fn(model(xb), yb) / len(window)).backward()
    sam.second_step(zero_grad=True)


# %% tags=["predict"]
predict("04-bug2")

# %%
distances = []
for seed in range(8):
    model = make_model(seed)
    before = flat(model.parameters())
    sam = VectorSAM(model, torch.optim.SGD(model.parameters(), lr=0.0))
    climbing_loop(model, sam, make_batches(seed, 4))
    distances.append((flat(model.parameters()) - before).norm().item() / 0.05)
print(f"학습률 0으로 움직인 거리 ÷ ρ: {min(distances):.2f} ~ {max(distances):.2f}")

# %% tags=["folded"]
# 확인: 시드 8개에서 움직인 거리
assert min(distances) > 1.1
reveal("04-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`first_step`이 불릴 때마다 「돌아갈 곳」이 지금 자리로 바뀝니다. 구간이 끝나면 첫 자리가 아니라 마지막에 올라가기 바로 앞의 자리로 돌아갑니다. `zero_grad=True`가 앞의 마이크로 배치가 쌓은 것까지 지우므로 업데이트도 마지막 배치의 4분의 1뿐입니다. 마이크로 배치마다 올라가려면 **배치마다** 내려와야 합니다. 어느 쪽이든 학습률 0 시험에서 바로 걸립니다.

실제 사례: [nblt/F-SAM](https://github.com/nblt/F-SAM)의 `grad_accumulate` 브랜치도 돌아갈 곳을 이렇게 덮어씁니다. 그 코드는 두 번째 그레이디언트를 따로 모아 두므로, 지워지는 문제는 없습니다.

</details>

## 4. 비용은 얼마일까요

약 10분 · ★☆☆

**예측.** 마이크로 배치 넷을 누적한 SAM을, 큰 배치 한 번의 SGD와 비교합니다. 시간과, 역전파를 위해 저장하는 텐서의 메모리는 어떨까요?

- a: 시간은 두 배쯤, 메모리는 4분의 1쯤
- b: 시간은 두 배쯤, 메모리는 절반쯤
- c: 시간도 메모리도 두 배쯤
"""

# %% tags=["predict"]
predict("04-13")

# %%
wide = wide_model()
opt = torch.optim.SGD(wide.parameters(), lr=0.01)
big, quarters = one_batch_and_quarters()
jobs = {
    "SGD, 1024 한 번": lambda: sgd_update(wide, opt, big),
    "SGD, 256 × 4 누적": lambda: sgd_update(wide, opt, quarters),
    "SAM, 1024 한 번": lambda: sam_update(wide, opt, big),
    "SAM, 256 × 4 누적": lambda: sam_update(wide, opt, quarters),
}
memory = {name: peak_saved_bytes(wide, job) for name, job in jobs.items()}
seconds = fastest(jobs)

# %% tags=["folded"]
# 표와 확인: 업데이트 한 번의 시간과 메모리
base_time, base_memory = seconds["SGD, 1024 한 번"], memory["SGD, 1024 한 번"]
weight_bytes = sum(p.numel() * p.element_size() for p in wide.parameters())
show_table(
    ["업데이트 한 번", "시간의 비", "저장한 텐서 (MiB)", "비", "따로 드는 것"],
    [
        [
            name,
            f"{seconds[name] / base_time:.2f}배",
            f"{memory[name] / 2**20:.2f}",
            f"{memory[name] / base_memory:.2f}",
            f"가중치 복사본 {weight_bytes / 2**20:.2f} MiB" if name.startswith("SAM") else "",
        ]
        for name in jobs
    ],
)
assert memory["SAM, 1024 한 번"] == base_memory
assert 0.2 < memory["SAM, 256 × 4 누적"] / base_memory < 0.3
if on_cpu:  # 넉넉한 경계입니다: 다른 일을 하는 컴퓨터에서도 성립해야 합니다
    assert 1.4 < seconds["SAM, 1024 한 번"] / base_time < 3.5
    assert 1.2 < seconds["SAM, 256 × 4 누적"] / base_time < 5
reveal("04-13")

# %% [markdown]
r"""
누적하려고 들고 있는 입력은 이 실험에서 0.25 MiB뿐입니다. 메모리를 많이 쓰는 것은 입력이 아니라 계산 그래프(computation graph)입니다. SAM이 더 쓰는 메모리는 적어 둔 가중치 한 벌입니다. 표에는 모델과 같은 float32로 적을 때의 크기를 썼습니다(실험용 `VectorSAM`은 float64로 적으므로 그 두 배를 씁니다). 그래프는 첫 번째 패스가 끝나면 해제되므로 늘지 않고, 누적하면 마이크로 배치 하나의 몫으로 줄어듭니다. 시간은 누적하든 하지 않든 두 배쯤입니다. 그래서 SAM을 비교할 때는 **같은 에폭뿐 아니라 같은 시간**을 쓴 상대도 함께 놓아야 합니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 크기가 다른 마이크로 배치에서 샘플마다 같은 몫을 줍니다.
- 마이크로 배치마다 올라가는 방법이 무엇과 다른지, 언제 써도 되는지 말합니다.
- SAM에 드는 시간과 메모리를 어림합니다.

누적 이야기는 여기서 끝나니 쉬기에 좋습니다. [다음: 순전파를 두 번 해서 생기는 일](5_two_forwards.ipynb)에서는 배치 정규화와 드롭아웃을 봅니다.
"""
