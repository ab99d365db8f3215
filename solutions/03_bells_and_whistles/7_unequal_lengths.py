# %% [markdown]
r"""
# 길이가 다른 글을 누적합니다

헌법의 항은 길이가 제각각이라, 한 배치에 담으려면 짧은 것의 뒤를 패딩(padding)으로 채워야 합니다. 패딩의 정답은 `ignore_index`(-100)로 두어 손실(loss)에서 뺍니다. 레슨 01에서는 크기가 다른 마이크로 배치(micro-batch)를 샘플 수로 가중하니 큰 배치와 같아졌습니다. 이번에도 그럴지 골라 보세요.

마이크로 배치 하나에 항이 둘, 구간(window) 하나에 마이크로 배치가 넷입니다. 마이크로 배치마다 평균 손실을 구하고, 항의 수가 모두 같으니 똑같이 4로 나누어 더합니다. 곧 평균의 평균입니다.

**예측.** 평균의 평균으로 누적한 그레이디언트(gradient)는, 여덟 항을 한 배치에 담은 그레이디언트와 얼마나 다를까요?

- a: 반올림 오차만큼
- b: 1%쯤
- c: 10%보다 많이
"""

# %% tags=["folded"]
# 준비: 라이브러리, 헌법의 항과 그것을 누적하는 실험
import math
from functools import partial
from statistics import median

import torch
import torch.nn.functional as F

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.clauses import (
    clause_run,
    draws,
    in_pairs,
    padded,
    shared_gradient,
    valid_tokens,
)
from grader.experiments.bells_and_whistles.gpt import make_gpt
from grader.experiments.bells_and_whistles.stored import each, six_seeds, spelled
from grader.experiments.bells_and_whistles.whiteboard import grade_step
from grader.plots import show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("03-14")

# %%
model = make_gpt(0, context=120).double()
found = {"평균의 평균": [], "토큰 수로 가중": [], "항마다 평균": []}
for chosen in draws(12, seed=0):  # 여덟 항을 12번 뽑습니다
    window = in_pairs(chosen)
    counts = [valid_tokens(batch) for batch in window]
    shares = {"평균의 평균": [1 / 4] * 4, "토큰 수로 가중": [count / sum(counts) for count in counts]}
    big, _ = shared_gradient(model, [padded(chosen)], [1.0])
    gradients = {name: shared_gradient(model, window, share)[0] for name, share in shares.items()}
    gradients["항마다 평균"], _ = shared_gradient(model, [padded([one]) for one in chosen], [1 / 8] * 8)
    for name, gradient in gradients.items():
        found[name].append(((gradient - big).norm() / big.norm()).item())
for name, errors in found.items():
    print(f"{name}: 상대 오차 중앙값 {median(errors):.2g} ({min(errors):.2g}~{max(errors):.2g})")

# %% tags=["folded"]
# 표와 확인: 토큰 하나의 몫을 두 방법으로 구합니다
show_table(
    [
        "마지막 구간의 마이크로 배치",
        "유효한 토큰",
        "토큰 하나의 몫 (평균의 평균)",
        "토큰 하나의 몫 (큰 배치)",
        "몇 배",
    ],
    [
        [at + 1, count, f"1/{4 * count}", f"1/{sum(counts)}", f"{sum(counts) / (4 * count):.2f}"]
        for at, count in enumerate(counts)
    ],
)
assert 0.1 < median(found["평균의 평균"]) < 0.3
assert max(found["토큰 수로 가중"]) < 1e-12
assert median(found["항마다 평균"]) > 0.1
reveal("03-14")

# %% [markdown]
r"""
## 1. 나누는 수

약 10분 · ★★☆

토큰(token) 하나하나를 똑같이 세는 손실이라면 샘플 수가 아니라 **토큰 수**로 가중해야 합니다. 틀린 것은 나누는 수입니다. 토큰 하나의 몫이 $1/(\text{구간 전체의 유효한 토큰 수})$여야 하는데, 마이크로 배치 안에서 평균을 내면 짧은 글의 토큰이 업데이트에 더 크게 반영됩니다.

글마다 평균을 내서 글 하나하나를 똑같이 세는 손실도 있습니다(「항마다 평균」). 큰 배치의 토큰 평균과는 다른 문제를 푸는 것이고, 알고 골랐다면 틀린 것이 아닙니다. 어느 쪽이든 **몫을 스스로 정해야 합니다.** 평균의 평균에서는 어떤 글과 한 마이크로 배치에 담겼느냐가 몫을 정합니다.

여러 큰 라이브러리도 평균을 다시 평균했습니다. 2021년에 지적되었고, 2024년 10월에야 널리 알려져 고치기 시작했습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)). 그해 12월 말에도 나누는 수를 바로잡는 수정이 이어졌습니다([transformers#35438](https://github.com/huggingface/transformers/pull/35438)).

학습(training) 결과는 얼마나 달라질까요? 두 방법으로 같은 구간 120개를 학습합니다. 길이가 비슷한 항끼리 마이크로 배치로 묶습니다.

**예측.** 학습하며 기록한 손실, 곧 누적하면서 더한 값은 어느 쪽이 더 낮을까요?

- a: 평균을 다시 평균한 누적
- b: 토큰 수로 가중한 누적
- c: 거의 같습니다. 차이가 0.01을 넘지 않습니다.
"""

# %% tags=["predict"]
predict("03-15")

# %%
# 토큰 수로 가중한 학습(True)과 평균의 평균(False). 시드 0만 지금 학습하고, 나머지는 미리 재어 둔 값을 읽습니다
fair, biased = (
    six_seeds(f"clauses by_tokens={by_tokens}", partial(clause_run, by_tokens), live=1)
    for by_tokens in (True, False)
)

# %% tags=["folded"]
# 표와 확인: 토큰 하나하나를 똑같이 센 손실을, 짧은 항 60개와 긴 항 60개에서 따로 잽니다
show_table(
    ["나누는 수", "짧은 항 60개의 손실 (시드 6개)", "긴 항 60개의 손실", "학습하며 기록한 손실"],
    [
        [name, *(spelled(each(runs, what)) for what in ("short", "long", "reported"))]
        for runs, name in [(fair, "구간의 유효한 토큰"), (biased, "마이크로 배치마다 평균")]
    ],
)
for right, wrong in zip(fair, biased, strict=True):
    assert wrong["short"] < right["short"] - 0.03
    assert wrong["long"] > right["long"]
    assert wrong["reported"] < right["reported"] - 0.02
    assert wrong["long"] - wrong["short"] > right["long"] - right["short"] + 0.1
    assert max(wrong.values()) < 4  # 배우기는 배웁니다
reveal("03-15")

# %% [markdown]
r"""
틀린 누적도 잘 배웁니다. **다른 문제를** 잘 배웁니다. 시드 6개 모두 짧은 항에는 더 잘 맞고 긴 항에는 덜 맞습니다. 그런데 그 방식으로 기록한 학습 손실은 6개 모두 더 낮습니다. 잘 맞춘 짧은 항을 크게 세기 때문입니다. 손실 곡선을 비교하면 틀린 쪽을 고르게 됩니다.

한 가지가 더 있습니다. 패딩뿐인 마이크로 배치가 섞이면 평균은 0 나누기 0입니다.
"""

# %%
logits = torch.randn(2, 5, 379, requires_grad=True)
nothing = torch.full((2, 5), -100)
mean_loss = F.cross_entropy(logits.flatten(0, 1), nothing.flatten())
sum_loss = F.cross_entropy(logits.flatten(0, 1), nothing.flatten(), reduction="sum")
print(f"유효한 토큰이 없는 마이크로 배치: 평균 {mean_loss.item()}, 합 {sum_loss.item()}")
assert math.isnan(mean_loss.item())
assert sum_loss.item() == 0.0

# %% [markdown]
r"""
### 연습. `token_mean_accumulate`

약 35분 · ★★★

구간 하나를 받아 한 번 업데이트합니다. 나누는 수를 알려면 역전파(backward pass)하기 전에 구간을 끝까지 보아야 합니다. `micro_batches`는 제너레이터일 수 있고, `ignore_index`는 -100이 아닐 수 있습니다.
"""


# %% tags=["exercise:token_mean_accumulate"]
def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    """유효한 토큰의 수가 서로 다른 마이크로 배치를 모아 한 번 업데이트하고, 업데이트하기 전의 평균 손실을 float로 돌려줍니다.

    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. 정답이 ignore_index인 위치는 세지 않습니다.
    model(x): (배치, 시간, 어휘) 로짓입니다.

    업데이트도 반환값도 구간의 모든 유효한 토큰을 한 배치에 담았을 때와 같아야 합니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    유효한 토큰이 하나도 없으면(마이크로 배치가 없어도) 업데이트하지 않고 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    # 두 번 돌아야 하므로 리스트로 모읍니다
    batches = list(micro_batches)
    # 1. 구간 전체에서 유효한 토큰을 먼저 셉니다
    num_valid = sum((y != ignore_index).sum().item() for _, y in batches)
    if num_valid == 0:
        raise ValueError("구간에 유효한 토큰이 하나도 없습니다")
    # 2. 마이크로 배치마다 손실의 합을 구해, 구간 전체의 개수로 나눕니다
    opt.zero_grad()
    window_loss = 0.0
    for x, y in batches:
        logits = model(x)
        loss_sum = F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )
        loss = loss_sum / num_valid
        loss.backward()
        window_loss += loss.item()
    # 3. 구간에 한 번 업데이트합니다
    opt.step()
    return window_loss
    # END SOLUTION


# %% tags=["check"]
check(token_mean_accumulate)

# %% [markdown]
r"""
통과했다면 카드 아래의 「현미경」을 누르거나 새 셀에서 `microscope(token_mean_accumulate)`를 실행해 보세요. 마이크로 배치마다 무엇이 얼마나 쌓이는지 볼 수 있습니다.

## 2. 화이트보드

약 15분 · ★★☆

위를 보지 말고 한 스텝을 씁니다. 학습률(learning rate)을 그룹마다 정하고, 다섯 줄을 쓰되, 알맞은 자리에서 클리핑합니다. `peaks`는 그룹마다의 정점이고, `rate_at(step, peak)`이 학습률을 줍니다. 다 쓴 다음 아래 셀을 실행하면 옵티마이저 없이 손으로 계산한 네 스텝과 비교합니다.
"""


# %% tags=["whiteboard"]
def step_from_memory(model, opt, peaks, rate_at, step, xb, yb, max_norm): ...


# %%
print(grade_step(step_from_memory))

# %% [markdown]
r"""
## 레슨의 정리

| 기법 | 하는 일 | 여기에서 재어 보니 |
|---|---|---|
| 워밍업 | 크게 업데이트해도 손실이 튀지 않는 곳까지 낮은 학습률로 갑니다 | 정점이 높을 때만 이득이고, 낮으면 손해입니다. 정점을 낮추는 것도 방법입니다 |
| 감쇠 | 끝으로 갈수록 업데이트를 줄입니다 | 학습 손실은 정점이 높을 때 낮아집니다. 코사인과 직선의 차이는 작습니다 |
| WSD | 정점에 머물다가 끝에서만 내립니다 | 전체 길이를 나중에 정해도 되고, 손실은 코사인만큼 내려갑니다 |
| 클리핑 | 그레이디언트의 노름이 `max_norm`을 넘지 않게 합니다 | 정점이 높으면 노름은 워밍업 안팎에서 가장 큽니다. 처음부터 켭니다 |
| 가중치 감쇠의 그룹 | 행렬에만 감쇠를 겁니다 | 0.1에서는 차이가 거의 없고, 1.0에서는 나눈 쪽의 손실이 낮습니다 |
| 평가와 기록 | 외우기 시작하는 곳을 알려 줍니다 | 글은 그럴듯해지는데 검증 손실은 다시 올라갑니다 |
| 토큰을 세는 누적 | 모든 토큰의 몫을 같게 합니다 | 평균의 평균은 짧은 글을 편듭니다 |

다섯 가지만 기억하세요.

1. 첫 손실이 $\ln(\text{글자 수})$보다 훨씬 크면, 학습을 시작하기 전에 초기 가중치부터 살펴봅니다.
2. Adam의 첫 업데이트는 부호뿐입니다. 그레이디언트의 크기를 보지 않습니다.
3. 튀는 배치 하나가 AdamW를 NaN으로 만들지는 않습니다. 대신 오래 기억됩니다.
4. 정점은 학습이 시작되기 전에 그룹마다 한 번 읽습니다.
5. 토큰을 똑같이 세려면, 나누는 수는 구간 전체의 유효한 토큰 수 하나입니다.

며칠 뒤에 `clinic()`(터미널에서는 `grader clinic`)을 실행해 보세요. 한 스텝 어긋난 스케줄이나 잘못 나눈 누적처럼, 통과한 함수를 조금 고장 낸 코드를 고치며 복습합니다.

## 더 읽을거리

- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): 매개변수 그룹과 스케줄러
- [clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html): 돌려주는 값과 `error_if_nonfinite`
- [On the Variance of the Adaptive Learning Rate and Beyond](https://arxiv.org/abs/1908.03265): 워밍업이 필요한 까닭을, Adam이 처음에 정하는 걸음의 분산으로 설명한 논문(RAdam)
- [A Loss Curvature Perspective on Training Instability in Deep Learning](https://arxiv.org/abs/2110.04369), [Why Warmup the Learning Rate?](https://arxiv.org/abs/2406.09405): 같은 물음에 곡률로 답한 논문들
- [SGDR](https://arxiv.org/abs/1608.03983): 코사인 어닐링(cosine annealing)이 처음 나온 논문
- [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063): 노름으로 클리핑하기를 제안한 논문

## 여기까지

이제 이런 것을 할 수 있습니다.

- 길이가 다른 글을 누적하면서 큰 배치와 똑같은 업데이트를 합니다.
- 손실의 몫을 무엇으로 나눌지 정하고, 코드가 그대로 나누는지 확인합니다.

레슨 03을 마쳤습니다. 배운 것을 며칠 묵혔다가 이어 가세요. 다음 레슨에서는 평탄한 최솟값(flat minimum)을 찾아 한 스텝에 두 번 역전파하는 SAM을 만들고, 거기에 누적을 더합니다.

[다음 레슨: 오류 없이 돌아가는 코드](../04_sam_accumulation/1_silent_bug.ipynb)
"""
