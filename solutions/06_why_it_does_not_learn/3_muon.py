# %% [markdown]
r"""
# 모든 방향으로 똑같이: Muon

약 6분 · ★★☆

SGD는 그레이디언트(gradient)를 그대로 쓰고 AdamW는 원소마다 크기를 맞춥니다. Muon은 가중치(weight) 행렬 하나의 그레이디언트를 통째로 보고 **방향마다** 크기를 맞춥니다.

행렬을 곱하는 일은 이렇게 나눌 수 있습니다. 입력에서 한 방향의 성분을 재고, 거기에 배율을 곱해, 출력의 한 방향으로 내보냅니다. 이것을 서로 수직인 방향마다 해서 모두 더합니다. 이 배율을 특잇값(singular value), 입력과 출력의 방향을 특이벡터(singular vector)라고 합니다. 식으로는 $G = s_1 u_1 v_1^\top + s_2 u_2 v_2^\top + \cdots = USV^\top$입니다. [레슨 03의 GPT](../03_bells_and_whistles/1_small_gpt.ipynb)를 30스텝 학습(training)한 다음, 블록의 행렬 8개(블록 둘에 넷씩)에서 그레이디언트의 특잇값을 구합니다. 짧은 쪽의 크기가 64라서 행렬마다 64개입니다.

**예측.** 특잇값을 제곱해 모두 더합니다(그레이디언트의 원소를 제곱해 더한 것과 같습니다). 가장 큰 4개가 그 가운데 얼마를 차지할까요?

- a: 10%쯤
- b: 30%쯤
- c: 70% 넘게
"""

# %% tags=["folded"]
# 준비: 라이브러리, 레슨 03의 GPT와 이 노트북의 실험
from statistics import fmean

import torch
from matplotlib import pyplot as plt
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.gpt import make_gpt
from grader.experiments.bells_and_whistles.stored import each
from grader.experiments.why_it_does_not_learn.muon_runs import CHOICES, PEAKS, best_runs, runs_at
from grader.experiments.why_it_does_not_learn.singular_values import (
    CLASSIC,
    batch_flops,
    block_matrices,
    muon_flops,
    repeated,
    share_of_largest,
    singular_values,
    spectra_after,
    spread,
    step_times,
)
from grader.plots import COLORS, show, show_table, use_course_style

assert hasattr(torch.optim, "Muon"), "이 노트북에는 PyTorch 2.9 이상이 필요합니다"
use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("06-8")

# %%
runs = [spectra_after(30, seed) for seed in range(6)]  # 30스텝 학습한 다음의 특잇값, 시드 6개
shares = [share_of_largest(values, 4) for _, gradients in runs for values in gradients.values()]
random = share_of_largest(singular_values(torch.randn(64, 256)), 4)
print(f"그레이디언트: 큰 것 4개의 몫 {spread(shares)} (시드 6개, 행렬 8개씩)")
print(f"난수 행렬이라면 {random:.2f}")

# %% tags=["folded"]
# 확인: 큰 특잇값 4개의 몫, 난수 행렬과 함께
assert len(shares) == 6 * 8
assert min(shares) > 0.7
assert 0.1 < random < 0.16
reveal("06-8")

# %% [markdown]
r"""
## 1. 그레이디언트, AdamW, Muon

약 8분 · ★★☆

같은 그레이디언트에서 세 옵티마이저(optimizer)가 만드는 업데이트를 비교합니다. SGD의 업데이트는 그레이디언트에 학습률(learning rate)을 곱한 것이니 특잇값의 모양이 그레이디언트와 같습니다. AdamW의 것은 30스텝의 이동 평균까지 들어간 실제 업데이트이고, Muon의 것은 모멘텀(momentum) 없이 이 그레이디언트 하나로 만든 것입니다. 행렬은 둘째 블록의 64×256 행렬 하나입니다. 가장 큰 특잇값을 1로 놓고 크기순으로 늘어놓습니다.
"""

# %% tags=["folded"]
# 그림과 표: 특잇값을 큰 것부터. 그림은 시드 0, 표는 시드 6개
names = {"gradient": "그레이디언트 (SGD)", "adamw": "AdamW", "muon": "Muon"}
styles = {"gradient": ("muted", ":"), "adamw": ("wrong", "--"), "muon": ("right", "-")}
figure, axis = plt.subplots(figsize=(7, 3.6))
for name, (color, style) in styles.items():
    values = getattr(runs[0][0], name)
    axis.plot(range(1, 65), values / values[0], style, color=COLORS[color], label=names[name])
axis.set(
    title="Muon의 업데이트만 평평합니다",
    xlabel="몇 번째로 큰 특잇값",
    ylabel="가장 큰 것의 몇 배",
    yscale="log",
    ylim=(3e-4, 2),
)
axis.legend(loc="lower left")
show(
    figure,
    "가로는 큰 것부터 센 번호, 세로는 가장 큰 것의 몇 배인지를 로그 눈금으로 그린 것입니다. 그레이디언트의 특잇값은 열 개쯤에서 10분의 1 아래로 내려가고 "
    "절반쯤 가면 100분의 1 아래이며, 마지막 하나는 그림 밖으로 떨어집니다. AdamW의 것은 그보다 천천히 내려갑니다. Muon의 것은 거의 끝까지 1에 가깝다가 마지막 몇 개만 내려갑니다.",
)
large = {name: [int((s := getattr(run, name)).gt(s[0] / 2).sum()) for run, _ in runs] for name in names}
middle = {name: [float((s := getattr(run, name)).median() / s[0]) for run, _ in runs] for name in names}
show_table(
    ["업데이트", "가장 큰 것의 절반이 넘는 특잇값 (64개 가운데)", "가운데 특잇값 ÷ 가장 큰 것"],
    [[names[name], f"{min(large[name])} ~ {max(large[name])}개", spread(middle[name], 3)] for name in names],
)
assert max(large["gradient"]) <= 3
assert max(large["adamw"]) <= 8
assert min(large["muon"]) >= 45
for run, _ in runs:
    relative = [values.median() / values[0] for values in run]
    assert relative[0] < relative[1] / 2 < relative[2] / 4
    assert 1.1 < run.muon[0] < 1.25
    assert run.gradient[-1] < 1e-6 * run.gradient[0]

# %% [markdown]
r"""
<details>
<summary>설명</summary>

그레이디언트를 그대로 쓰면 한두 방향으로만 크게 움직이고, 나머지 예순 남짓한 방향으로는 거의 움직이지 않습니다. AdamW는 원소의 크기를 맞추므로 쏠림이 덜합니다. 그러나 원소의 크기를 맞춘다고 방향의 크기까지 맞는 것은 아니라서, AdamW의 업데이트도 몇 방향으로 쏠립니다. Muon의 업데이트에서는 대부분의 방향이 비슷한 크기로 움직입니다.

그림 밖으로 떨어진 그레이디언트의 마지막 특잇값은 0이고, 반올림 오차만 남았습니다. 이 행렬의 출력은 모두 LayerNorm을 거치고 LayerNorm은 평균을 빼므로, 출력을 똑같이 올리는 방향으로는 손실(loss)이 바뀌지 않습니다.

작은 방향을 키우는 것이 학습에 좋은지는 이 그림만으로는 알 수 없습니다. 그것은 4절에서 손실로 봅니다.

</details>

Muon의 한 스텝(step)은 이렇습니다.

1. 모멘텀 $B \leftarrow \mu B + G$를 쌓습니다.
2. $B$의 특이벡터는 그대로 두고 특잇값을 1 가까이로 맞춥니다.
3. 학습률을 곱해 가중치에서 뺍니다.

여기에 적지 않은 것이 셋 있습니다. 행렬의 모양에 따른 배율, 감쇠(weight decay), 그리고 네스테로프 모멘텀(Nesterov momentum, 2에서 $B$ 대신 $G + \mu B$를 쓰는 것)입니다. 행렬 하나가 들고 있는 상태는 $B$ 하나라서 AdamW의 절반입니다. 남은 물음은 특잇값을 어떻게 맞추느냐입니다.

## 2. 특잇값을 구하지 않고 1로

약 12분 · ★★★

특잇값 분해(SVD)를 하면 바로 되지만 느립니다. Muon은 행렬을 곱하기만 합니다. $X = USV^\top$이면 $(XX^\top)X = US\,V^\top V\,S\,U^\top U\,SV^\top = US^3V^\top$입니다. $V^\top V$와 $U^\top U$가 단위행렬이기 때문입니다. 곧 특이벡터는 그대로이고 특잇값만 세제곱이 됩니다. $(XX^\top)^2X$에서는 다섯제곱이 됩니다. 그래서

$$X \leftarrow aX + b\,(XX^\top)X + c\,(XX^\top)^2X$$

를 하면 특잇값 $s$가 **하나하나 따로** $as + bs^3 + cs^5$으로 바뀝니다. 이런 되풀이를 뉴턴-슐츠(Newton–Schulz) 반복이라고 합니다. Muon의 계수로 다섯 번 해 봅니다.
"""

# %%
for start in [0.001, 0.003, 0.01]:
    s, path = start, []
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        path.append(f"{s:.3f}")
    print(f"{start:<4} → {' → '.join(path)}")

# %% [markdown]
r"""
0.01이 다섯 번 만에 0.7까지 자랍니다. 0 근처에서는 한 번에 $a = 3.4445$배가 되기 때문입니다.

**예측.** 다섯 번 대신 50번 되풀이합니다. 0.002와 1 사이의 특잇값은 어떻게 될까요?

- a: 0.6과 1.2 사이에서 계속 오르내립니다.
- b: 모두 1로 모여, 소수 셋째 자리까지 1이 됩니다.
- c: 반올림 오차가 쌓여 발산합니다.
"""

# %% tags=["predict"]
predict("06-9")

# %%
starts = torch.logspace(-4, 0, 2001, dtype=torch.float64)  # 0.0001부터 1까지
five, fifty = repeated(starts, 5), repeated(starts, 50)
counted = starts > 0.002
print(f"5번: {spread(five[counted].tolist())}, 50번: {spread(fifty[counted].tolist())}")

# %% tags=["folded"]
# 그림과 확인: 다섯 번 되풀이한 특잇값, 오래전부터 쓰던 계수(1.5, -0.5, 0)와 함께
classic = repeated(starts, 5, CLASSIC)
figure, axis = plt.subplots(figsize=(7, 3.6))
axis.plot(starts, five, color=COLORS["right"], label="Muon의 계수")
axis.plot(starts, classic, "--", color=COLORS["wrong"], label="계수 1.5, -0.5, 0")
axis.axhline(1, color=COLORS["muted"], linestyle=":", linewidth=1)
axis.set(
    title="다섯 번 만에 1 언저리로",
    xlabel="처음 특잇값",
    ylabel="다섯 번 되풀이한 다음",
    xscale="log",
    ylim=(0, 1.4),
)
axis.legend(loc="upper left")
show(
    figure,
    "가로는 처음 특잇값을 로그 눈금으로, 세로는 다섯 번 되풀이한 다음의 값입니다. Muon의 계수로는 0.002 근처부터 오른쪽 끝까지 0.7과 1.2 사이를 오르내립니다. "
    "1.5, -0.5, 0으로는 0.3 근처부터 정확히 1이고, 0.01에서는 아직 0.1보다 작습니다.",
)
assert 0.68 < five[counted].min() < five[counted].max() < 1.21
assert 0.68 < fifty[counted].min() < 0.7
assert 1.1 < fifty[counted].max() < 1.21
cycle = torch.tensor([1.047, 0.682, 1.134, 0.753], dtype=torch.float64)  # 이 순서로 되풀이됩니다
on_cycle = (fifty[counted, None] - cycle).abs().min(dim=1).values < 1e-3
print(f"50번 뒤에 네 수 {cycle.tolist()} 가운데 하나인 것: {on_cycle.double().mean():.0%}")
assert on_cycle.double().mean() > 0.95
assert (repeated(cycle, 1) - cycle.roll(-1)).abs().max() < 2e-3
assert classic[starts > 0.3].min() > 0.99
assert classic[starts < 0.01].max() < 0.1
assert (repeated(starts, 30, CLASSIC) - 1).abs().max() < 1e-9
assert repeated(torch.tensor([1.25], dtype=torch.float64), 20).abs().max() < 1.25
assert repeated(torch.tensor([1.35], dtype=torch.float64), 4).abs().max() > 1e3
reveal("06-9")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

Muon의 계수로는 거의 모두 네 수를 차례로 돕니다. 1.047 다음은 0.682, 1.134, 0.753이고 다시 1.047입니다.

1로 정확히 수렴하는 계수도 있습니다. 뉴턴-슐츠 반복에 오래전부터 쓰던 1.5, -0.5, 0으로 30번 하면 0.0001까지 모두 1이 됩니다. 그러나 한 번에 1.5배씩만 커지므로 다섯 번으로는 작은 값이 1까지 자라지 못합니다. Muon의 계수는 정확한 수렴을 포기하는 대신 0 근처의 배율을 키운 것입니다. 학습에는 정확한 1이 필요하지 않다고 보았기 때문입니다.

</details>

특잇값이 1.26쯤을 넘으면 되풀이할수록 커져 발산합니다. 그래서 먼저 행렬을 프로베니우스 노름(Frobenius norm)으로 나눕니다. 특잇값을 제곱해 더한 것의 제곱근이 프로베니우스 노름이라, 나누고 나면 특잇값이 모두 1보다 작거나 같습니다.

### 연습 1. `newton_schulz`

약 15분 · ★★☆

위의 숫자 하나를 행렬로 바꿉니다. 채점기는 float64로 비교합니다. `torch.optim.Muon`은 빠르게 하려고 이것을 bfloat16으로 계산합니다.
"""


# %% tags=["exercise:newton_schulz"]
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """행렬의 특이벡터는 그대로 두고 특잇값을 1 가까이로 맞춘 행렬을 돌려줍니다.

    G: 차원이 둘인 실수 텐서입니다. 가로로도 세로로도 길 수 있습니다.

    먼저 G를 그 프로베니우스 노름(모든 원소를 제곱해 더한 값의 제곱근)으로 나눕니다. 노름이 1e-7보다 작으면 1e-7로 나눕니다.
    그런 다음 X를 aX + b(XXᵀ)X + c(XXᵀ)²X로 바꾸는 일을 steps번 합니다. a, b, c는 3.4445, -4.7750, 2.0315입니다.
    곱하는 XXᵀ의 크기는 G의 가로와 세로 가운데 짧은 쪽입니다. 세로로 긴 행렬은 눕혀서 계산하고 다시 세웁니다.
    다섯 번이면, 노름의 0.002배보다 큰 특잇값은 모두 0.68과 1.21 사이로 갑니다.
    돌려주는 텐서의 모양과 dtype은 G와 같습니다. G의 dtype보다 낮은 정밀도로 계산하지 않습니다. G는 바뀌지 않습니다. 모두 0이면 모두 0입니다.
    """
    # BEGIN SOLUTION
    a, b, c = 3.4445, -4.7750, 2.0315
    is_tall = G.size(0) > G.size(1)
    X = G.mT if is_tall else G
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = X @ X.mT
        X = a * X + (b * gram + c * gram @ gram) @ X
    return X.mT if is_tall else X
    # END SOLUTION


# %% tags=["check"]
check(newton_schulz)

# %% [markdown]
r"""
Muon의 핵심은 여기까지입니다. 쉬었다 오기 좋습니다. 남은 것은 비용, 그리고 무엇을 맡기지 않느냐입니다.

## 3. 계산이 얼마나 더 들까요

약 6분 · ★★☆

짧은 쪽이 $m$, 긴 쪽이 $n$인 행렬에서 한 번 되풀이하면 곱셈과 덧셈이 $4m^2n + 2m^3$번쯤 듭니다($XX^\top$에 $2m^2n$, 그 제곱에 $2m^3$, $X$와 곱하는 데 $2m^2n$). 다섯 번이면 그 다섯 배이고, 배치의 크기와는 상관이 없습니다. 그 행렬의 순전파와 역전파(backward pass)는 토큰마다 $6mn$번입니다(순전파에 $2mn$, 역전파에 $4mn$). 토큰이 512개인 이 레슨의 GPT와, 토큰이 52만 개인 큰 모델을 어림합니다.
"""

# %%
for m, n, batch_tokens in [(64, 256, 512), (4096, 16384, 524288)]:
    extra = 5 * (4 * m**2 * n + 2 * m**3) / (6 * m * n * batch_tokens)
    print(f"{m}×{n}, 토큰 {batch_tokens:,}개: Muon의 계산은 순전파와 역전파의 {extra:.0%}")

# %% tags=["folded"]
# 확인: 센 연산의 수가 식과 같은지, 이 컴퓨터에서 시간이 실제로 더 걸리는지, 상태와 배율
times = step_times()
print(f"블록의 행렬 8개를 업데이트한 프로세서 시간: AdamW {times['AdamW']:.1f}ms, Muon {times['Muon']:.1f}ms")
sides = [sorted(p.shape) for p in block_matrices(make_gpt(0)).values()]
assert muon_flops() == sum(5 * (4 * m**2 * n + 2 * m**3) for m, n in sides)
counted_flops, head = batch_flops(), make_gpt(0).head.weight
print(f"이 GPT에서 센 연산: 순전파와 역전파 {counted_flops / 1e6:.0f}M, Muon {muon_flops() / 1e6:.0f}M")
assert round(100 * muon_flops() / counted_flops) == 39
assert counted_flops == 6 * 512 * (sum(m * n for m, n in sides) + head.numel())
assert extra < 0.05
assert times["Muon"] > 2 * times["AdamW"]
p = nn.Parameter(torch.zeros(4, 6))
p.grad = torch.ones(4, 6)
opt = torch.optim.Muon([p])
opt.step()
assert sum(tensor.numel() for tensor in opt.state[p].values()) == p.numel()  # AdamW는 m과 v, 둘입니다
q = nn.Parameter(torch.zeros(4, 6))
q.grad = torch.ones(4, 6)
torch.optim.Muon([q], adjust_lr_fn="match_rms_adamw").step()
assert torch.allclose(q, 0.2 * 6**0.5 * p)

# %% [markdown]
r"""
배치의 토큰이 많을수록 Muon의 계산은 비중이 작아지고, 행렬이 클수록 커집니다. 4096×16384도 토큰이 512개뿐이라면 순전파와 역전파의 30배입니다. DDP로 학습하면 배치는 rank끼리 나누지만 이 계산은 rank마다 되풀이하므로, rank 하나의 배치와 비교해야 합니다. 그래서 여러 GPU에서는 행렬을 rank끼리 나누어 맡기도 합니다. 47%는 행렬 하나에서 식으로 구한 것이고, 이 GPT의 행렬곱 계층을 모두 세면 39%입니다. 출력 계층의 순전파와 역전파도 들어가는데, 거기에는 Muon을 쓰지 않기 때문입니다. 여기의 시간이 그대로 큰 모델의 시간이 되지는 않습니다.

## 4. Muon에 맡기지 않는 매개변수

약 12분 · ★★☆

PyTorch에는 2.9부터 `torch.optim.Muon`이 있습니다. `model.parameters()`를 그대로 넘겨 봅니다.
"""

# %%
gpt = make_gpt(0)
try:
    torch.optim.Muon(gpt.parameters())
except ValueError as error:
    print(f"ValueError: {error}")
refused = [name for name, p in gpt.named_parameters() if p.ndim != 2]
print(f"받지 않는 매개변수 {len(refused)}개: {', '.join(refused[:4])} …")

# %% [markdown]
r"""
편향(bias)과 LayerNorm의 배율은 행렬이 아니라서 특잇값이 없습니다. 이런 매개변수(parameter)는 AdamW에 맡깁니다.

임베딩(embedding)과 출력 계층(layer)의 가중치는 차원이 둘이라 Muon이 **오류 없이 받습니다.** 그러나 [Muon을 만든 사람의 글](https://kellerjordan.github.io/posts/muon/)은 이 둘도 AdamW에 맡기라고 권합니다. 임베딩에는 이론적인 까닭을 대지만, 출력 계층은 해 보니 그쪽이 나았다고 적었습니다. 임베딩이 글자마다 벡터 하나를 적어 둔 표라고 생각하면, 벡터를 벡터로 옮기는 행렬과 다르게 다룰 만합니다(이것은 이 강의의 설명입니다).

레슨 03의 GPT를 세 가지로 180스텝 학습합니다. Muon의 업데이트는 원소 하나의 움직임이 AdamW와 비슷한 크기가 되도록 맞추고(`adjust_lr_fn="match_rms_adamw"`), 감쇠는 끕니다. 셋 다 학습률 네 가지(0.003, 0.006, 0.009, 0.012)를 시드 6개로 해 보고, 검증(validation) 손실의 평균이 가장 낮은 것을 씁니다. 다른 일을 하지 않는 컴퓨터에서 4분쯤 걸리므로 미리 재어 둔 값을 읽습니다.

**예측.** 임베딩과 출력 계층까지 Muon에 맡기면, 블록의 행렬만 맡긴 것보다 검증 손실이 어떻게 될까요?

- a: 시드 6개 모두에서 높고, 차이는 0.1보다 큽니다.
- b: 시드마다 엇갈리고, 차이는 0.05보다 작습니다.
- c: 시드 6개 모두에서 낮고, 차이는 0.1보다 큽니다.
"""

# %% tags=["predict"]
predict("06-10")

# %%
chosen = {choice: best_runs(choice) for choice in CHOICES}
losses = {choice: each(six, "val") for choice, (_, six) in chosen.items()}

# %% tags=["folded"]
# 표와 확인: 저마다 고른 학습률에서의 손실, 시드 6개
show_table(
    ["Muon에 맡긴 것", "고른 학습률", "학습 손실 (평균)", "검증 손실 (평균)", "검증 손실 (시드 6개)"],
    [
        [
            choice,
            peak,
            f"{fmean(each(six, 'train')):.2f}",
            f"{fmean(each(six, 'val')):.3f}",
            spread(each(six, "val"), 3),
        ]
        for choice, (peak, six) in chosen.items()
    ],
)
plain, inner, all_of_it = losses.values()
gaps = [more - less for more, less in zip(all_of_it, inner, strict=True)]
print(f"임베딩과 출력 계층까지 − 블록만: {', '.join(f'{gap:+.3f}' for gap in gaps)}")
for peak, least in [(0.003, 0.2), (0.006, 0.0)]:
    slow = [each(runs_at(choice, peak), "val") for choice in list(CHOICES)[1:]]
    slow_gaps = [more - less for less, more in zip(*slow, strict=True)]
    print(f"학습률을 {peak}으로 같게 두었다면: {', '.join(f'{gap:+.3f}' for gap in slow_gaps)}")
    assert len(gaps) == len(slow_gaps) == 6
    assert min(slow_gaps) > least
blocks = {peak: runs_at(list(CHOICES)[1], peak) for peak in sorted(PEAKS)[1:]}  # 0.006부터
trained, validated = ([fmean(each(six, kind)) for six in blocks.values()] for kind in ("train", "val"))
show_table(
    ["블록의 행렬을 Muon에, 학습률", "학습 손실 (평균)", "검증 손실 (평균)"],
    [
        [peak, *(f"{fmean(each(runs_at(list(CHOICES)[1], peak), kind)):.2f}" for kind in ("train", "val"))]
        for peak in PEAKS
    ],
)
assert trained == sorted(trained, reverse=True)
assert trained[0] - trained[-1] > 0.15
assert max(validated) - min(validated) < 0.02
assert all(abs(gap) < 0.05 for gap in gaps)
assert min(gaps) < 0 < max(gaps)
assert all(adamw - muon > 0.05 for adamw, muon in zip(plain, inner, strict=True))
assert all(min(PEAKS) < peak < max(PEAKS) for peak, _ in chosen.values()), "고른 학습률이 끝에 있지 않습니다"
reveal("06-10")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

블록의 행렬을 Muon에 맡긴 것은 시드 6개 모두에서 AdamW보다 검증 손실이 낮았습니다. 임베딩과 출력 계층까지 맡긴 것은 그것과 우열이 가려지지 않았습니다. 학습률을 둘 다 0.003이나 0.006에 두고 비교했다면 시드 6개 모두에서 나빠서, 규칙이 확인된 것처럼 보였을 것입니다. 또 둘째 표에서 학습 손실은 학습률을 키울수록 계속 내려가는데 검증 손실은 0.006부터 멈춰 있습니다. 이만큼 짧은 학습과 작은 데이터에서는 셋째와 넷째 학습률의 차이가 검증에 드러나지 않습니다. 「임베딩과 출력 계층은 AdamW에」는 **이 작은 GPT의 180스텝으로는 확인되지 않는 규칙**입니다. 이 강의도 권고를 따르지만, 여기서 잰 사실은 아닙니다. 학습률을 고른 시드와 비교한 시드가 같으니, 세 가지 모두 새 시드에서보다 조금 좋게 나왔을 수 있습니다.

</details>

규칙을 따르려면 매개변수를 둘로 나누어야 합니다. 이름으로 나누기 쉽지만, 이름은 만든 사람이 짓기 나름입니다. 이 GPT에서 임베딩의 이름은 `character`와 `position`입니다. 출력 계층과 임베딩이 텐서 하나를 함께 쓰는 모델(weight tying)도 많습니다.

### 연습 2. `muon_groups`

약 20분 · ★★☆
"""


# %% tags=["exercise:muon_groups"]
def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    """매개변수를 Muon에 맡길 것과 AdamW에 맡길 것의 두 리스트로 나누어 돌려줍니다.

    Muon에는 안쪽 계층의 행렬, 곧 차원이 꼭 둘인 매개변수를 맡깁니다. 다음은 차원이 둘이어도 AdamW에 맡깁니다.
    - nn.Embedding의 가중치
    - 출력 계층, 곧 named_modules()에서 이름이 인자 head의 값과 같은 모듈 안의 매개변수
    - 안쪽 계층의 행렬이라도, 위의 둘 가운데 하나와 같은 텐서인 것 (출력 계층과 임베딩이 한 텐서인 모델이 많습니다)

    얼린(requires_grad가 거짓인) 매개변수는 어느 쪽에도 넣지 않습니다. 여러 곳에서 함께 쓰는 것은 한 번만 넣습니다.
    두 리스트 모두 model.parameters()의 순서입니다. 그런 이름의 모듈이 없으면 KeyError를 냅니다.
    """
    # BEGIN SOLUTION
    modules = dict(model.named_modules())
    outside = {id(p) for p in modules[head].parameters()}
    outside |= {id(p) for one in modules.values() if isinstance(one, nn.Embedding) for p in one.parameters()}
    trained = [p for p in model.parameters() if p.requires_grad]
    inner = [p for p in trained if p.ndim == 2 and id(p) not in outside]
    chosen = {id(p) for p in inner}
    return inner, [p for p in trained if id(p) not in chosen]
    # END SOLUTION


# %% tags=["check"]
check(muon_groups)

# %% [markdown]
r"""
나눈 두 리스트로 옵티마이저를 하나씩 만듭니다. 학습 루프에서는 `zero_grad()`도, `step()`도, 스케줄러(scheduler)도, 체크포인트(checkpoint)에 담을 `state_dict()`도 **둘씩**입니다. 학습률을 AdamW의 것과 나란히 쓰려면 위의 학습처럼 `torch.optim.Muon(…, adjust_lr_fn="match_rms_adamw", weight_decay=0.0)`으로 만듭니다. 학습률에 $0.2\sqrt{\text{긴 쪽}}$을 곱해, 원소 하나의 움직임을 AdamW와 비슷한 크기로 맞춥니다. 감쇠는 따로 정합니다. Muon의 기본값은 0.1이라 AdamW의 0.01과 다릅니다.

## 정리

- 30스텝을 학습한 GPT에서 그레이디언트의 특잇값은 몇 개에 쏠려 있었습니다. Muon은 특이벡터를 두고 특잇값만 1 가까이로 맞춥니다.
- 맞추는 데는 행렬곱만 씁니다. 다섯 번이면 되고, 정확한 1이 되지는 않습니다.
- Muon의 계산은 배치의 크기와 상관이 없어서, rank 하나의 배치가 클수록 비중이 작아집니다. 여러 GPU에 나뉜 행렬을 모으는 통신은 따로 듭니다.
- 차원이 둘이 아닌 것은 Muon이 받지 않으므로 AdamW에 맡깁니다. 임베딩과 출력 계층은 권고를 따라 AdamW에 맡깁니다. 여기에서 확인한 것은 아니고, 오류가 알려 주지도 않습니다.

이제 특잇값을 보고 업데이트가 어느 쪽으로 쏠렸는지 말할 수 있고, 한 모델을 두 옵티마이저에 나누어 맡길 수 있습니다. 다음 노트북 [가중치의 평균](4_averaged_weights.ipynb)에서는 옵티마이저는 그대로 두고, 지나온 가중치를 평균합니다.
"""
