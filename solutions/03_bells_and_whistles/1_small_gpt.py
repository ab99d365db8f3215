# %% [markdown]
r"""
# 작은 GPT와 스텝 세기

언어 모델의 학습(training) 루프에는 다섯 줄 말고도 늘 따라다니는 것이 있습니다. 학습률(learning rate)을 올렸다가 내리고, 너무 큰 그레이디언트(gradient)를 줄이는 기법입니다. 대개는 남의 코드에서 값까지 그대로 옮겨 옵니다. 이 레슨에서는 하나씩 떼어 보고 다시 달아 보며, 무엇이 달라지는지 잽니다.

대상은 대한민국헌법을 한 글자씩 배우는 작은 GPT입니다. 앞의 글자들을 보고 다음 한 글자를 맞히고, 글자는 모두 379가지입니다.

**예측.** 아직 학습하지 않은 모델의 손실(loss)은 얼마쯤일까요?

- a: 약 0.003 (379분의 1)
- b: 약 1
- c: 약 6
- d: 약 379
"""

# %% tags=["folded"]
# 준비: 라이브러리, 헌법과 작은 GPT
import math
from statistics import median

import torch
import torch.nn.functional as F

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.data import (
    alphabet,
    batch_stream,
    border,
    device,
    short_train,
    spelled_out,
    text,
    train_tokens,
    windows,
)
from grader.experiments.bells_and_whistles.gpt import make_gpt, token_loss, write
from grader.experiments.bells_and_whistles.training import climb_then

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% tags=["predict"]
predict("03-1")


# %%
@torch.no_grad()
def first_losses(std):
    """시드 3개에서, 학습하기 전의 손실입니다. std는 초기 가중치의 표준편차입니다."""
    return [token_loss(make_gpt(seed, std=std), short_train).item() for seed in range(3)]


calm, default, loud = first_losses(0.02), first_losses(None), first_losses(1.0)
print(f"이 레슨의 초기 가중치(표준편차 0.02): {median(calm):.2f}")
print(f"PyTorch의 기본 초기 가중치:          {median(default):.2f}")
print(f"표준편차를 1로 키우면:               {median(loud):.1f}")

# %% tags=["folded"]
# 확인: 초기 가중치 세 가지의 첫 손실
print(f"ln {len(alphabet)} = {math.log(len(alphabet)):.2f}")
assert len(alphabet) == 379
assert all(abs(loss - math.log(379)) < 0.05 for loss in calm)
assert all(0.1 < loss - math.log(379) < 0.3 for loss in default)
assert min(loud) > 10
reveal("03-1")

# %% [markdown]
r"""
첫 손실은 $\ln(\text{글자 수})$ 근처여야 합니다. PyTorch의 기본 초기 가중치(weight)를 쓸 때처럼 0.3까지 높은 것은 흔합니다. 그러나 **훨씬 높으면**, 곧 1 넘게 차이가 나면 학습을 시작하기 전에 멈추고 살펴봅니다. 초기 가중치가 너무 크면 아무것도 모르면서 틀린 답을 확신합니다.

## 1. 조문을 배우는 GPT

약 12분 · ★☆☆

토큰(token)은 글자 하나입니다. 입력이 열두 글자면 맞힐 글자도 열두 개입니다. 위치마다 거기까지의 글자만 보고 다음 한 글자를 맞힙니다. 손실은 모든 위치의 교차 엔트로피를 평균한 값입니다.
"""

# %%
piece = windows(train_tokens, 12)[5]
inputs, targets = piece[:-1], piece[1:]
print("입력:", repr(spelled_out(inputs)))
print("정답:", repr(spelled_out(targets)))

# %% tags=["folded"]
# 확인: 정답은 한 칸 민 입력이고, 제7장부터는 검증에 씁니다
print(f"{len(text):,}글자. 제6장까지 {border:,}글자는 학습에, 나머지는 검증(validation)에 씁니다")
assert torch.equal(inputs[1:], targets[:-1])
assert border < 0.85 * len(text)
print(f"매개변수(parameter) {sum(p.numel() for p in make_gpt(0).parameters()):,}개")

# %% [markdown]
r"""
모델은 글자와 위치의 임베딩(embedding, 하나를 나타내는 벡터)을 더하고, 블록 두 개를 지나, 글자마다 로짓을 냅니다. 블록에서 앞의 글자를 둘러보는 일을 어텐션(attention)이라고 합니다. 위치마다 벡터 세 개, 곧 쿼리(query), 키(key), 값(value)을 만듭니다. 한 위치의 쿼리를 거기까지의 키와 하나씩 내적해 일정한 수로 나눈 것이 점수이고, 점수를 softmax에 넣어 얻은 비율로 값을 섞습니다. 이 일을 헤드(head) 4개가 저마다 16차원에서 합니다.
"""

# %%
model = make_gpt(0)
block, x = model.blocks[0], model.character(inputs) + model.position.weight[:12]
query, key, value = block.qkv(block.norm_1(x)).view(12, 3, 4, 16).permute(1, 2, 0, 3)
scores = query @ key.transpose(1, 2) / math.sqrt(16)
future = torch.ones(12, 12, device=device).triu(1).bool()
mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ value  # 뒤의 글자는 보지 못합니다

# %% tags=["folded"]
# 확인: PyTorch의 어텐션과 같고, 뒤의 글자를 바꾸어도 앞의 로짓은 그대로입니다
assert torch.allclose(mixed, F.scaled_dot_product_attention(query, key, value, is_causal=True), atol=1e-6)
changed = inputs.clone()
changed[6:] = 0
with torch.no_grad():
    before, after = model(inputs[None])[0], model(changed[None])[0]
assert torch.allclose(before[:6], after[:6], atol=1e-5)
assert not torch.allclose(before[6:], after[6:], atol=1e-3)
print("앞 여섯 위치의 로짓은 뒤의 글자와 상관이 없습니다")

# %% [markdown]
r"""
모델의 나머지는 보통의 계층(layer)입니다. 새 셀에서 `from grader.experiments.bells_and_whistles.gpt import GPT`를 쓰고 `GPT??`를 실행하면 코드가 나옵니다. 같은 파일의 `Block`도 `import`해 `Block??`로 봅니다. 둘을 합쳐 60줄쯤입니다.

이제 학습해 봅니다. **스텝마다 쓸 학습률을 리스트로 줍니다.** 이 레슨의 실험은 모두 이런 루프입니다. 스케줄을 바꾸는 실험은 리스트만 바꾸면 됩니다.
"""

# %%
rates = climb_then("코사인", peak=0.003, warmup=10, total=60)  # 10스텝 동안 올라가고 50스텝 동안 내려갑니다
model = make_gpt(0)
opt = torch.optim.AdamW(model.parameters())
print("학습 전:", repr(write(model, "국회는 ", 40)))
for rate, part in zip(rates, batch_stream(short_train, seed=0), strict=False):
    opt.param_groups[0]["lr"] = rate
    opt.zero_grad()
    loss = token_loss(model, part)
    loss.backward()
    opt.step()
print(f"60스텝 뒤: {write(model, '국회는 ', 40)!r}, 손실 {loss.item():.2f}")

# %% tags=["folded"]
# 확인: 60스텝이면 첫 손실에서 멀어집니다
assert loss.item() < 4
assert len(rates) == 60

# %% [markdown]
r"""
## 2. 스텝을 셉니다

약 8분 · ★☆☆

감쇠하는 스케줄은 대개 전체 스텝(step) 수를 미리 알아야 그릴 수 있습니다. 스텝은 `opt.step()` 한 번입니다.

**예측.** 한 에폭(epoch)에 배치가 30개이고, 네 개씩 누적해 12에폭을 학습합니다. 에폭 끝에 남은 배치로도 업데이트합니다. `opt.step()`은 몇 번 불릴까요?

- a: 84번
- b: 90번
- c: 96번
- d: 360번
"""

# %% tags=["predict"]
predict("03-2")

# %%
calls = 0
for epoch in range(12):
    waiting = 0
    for batch in range(30):
        waiting += 1
        if waiting == 4 or batch == 29:
            calls += 1  # opt.step()의 자리입니다
            waiting = 0
print(f"opt.step()을 부른 횟수: {calls}")
planned = climb_then("코사인", peak=1.0, warmup=18, total=360)
print(f"360스텝으로 그린 코사인이 {calls}번째 업데이트에 주는 학습률: 정점의 {planned[calls - 1]:.0%}")

# %% tags=["folded"]
# 확인: 세어 본 횟수와, 잘못 그린 스케줄이 끝나는 높이
assert calls == 96
assert 0.85 < planned[95] < 0.9
reveal("03-2")

# %% [markdown]
r"""
배치를 세어 360스텝으로 계획하면 스케줄은 끝까지 가지 못합니다. 학습이 끝날 때 학습률은 아직 정점의 90%에 가깝습니다. 오류는 나지 않고, 감쇠가 거의 없는 학습이 됩니다.

처음에 학습률을 조금씩 올리는 워밍업(warmup)의 길이는 전체의 비율로 정할 때가 많습니다. 흔히 0.1%에서 20% 사이를 씁니다. 짧은 학습에서는 비율이 작으면 반올림한 값이 0이 되므로, 적어도 한 스텝은 둡니다. 이 레슨의 비교 실험은 100~280스텝이라 워밍업이 전체의 10~40%를 차지합니다. 효과를 짧은 시간에 보려고 일부러 길게 잡은 것이고, 아래 함수는 20%를 넘는 비율을 거절합니다.

### 연습. `plan_steps`

약 20분 · ★☆☆
"""


# %% tags=["exercise:plan_steps"]
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    """(전체 스텝 수, 워밍업 스텝 수)를 돌려줍니다. 스텝은 마이크로 배치가 아니라 opt.step() 한 번입니다.

    n_batches: 한 에폭의 (마이크로) 배치 수입니다.
    warmup_ratio: 전체에서 워밍업이 차지하는 비율입니다. 0.001 이상 0.2 이하가 아니면 ValueError를 냅니다.
    accum_steps: 배치를 이만큼 모아 한 번 업데이트합니다. 에폭 끝의 모자란 구간도 한 스텝입니다.

    워밍업은 반올림하고(꼭 절반이면 어느 쪽이든 됩니다), 적어도 한 스텝입니다.
    """
    # BEGIN SOLUTION
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError(f"warmup_ratio는 0.001 이상 0.2 이하여야 합니다: {warmup_ratio}")
    # 구간은 에폭을 넘지 않습니다. 그래서 올림은 에폭마다 합니다
    steps_per_epoch = math.ceil(n_batches / accum_steps)
    total_steps = steps_per_epoch * n_epochs
    warmup_steps = max(1, round(total_steps * warmup_ratio))
    return total_steps, warmup_steps
    # END SOLUTION


# %% tags=["check"]
check(plan_steps)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 학습하기 전의 손실을 보고, 시작해도 되는지 판단합니다.
- 누적과 에폭의 끝을 헤아려 스텝을 세고, 워밍업의 길이를 정합니다.

모델과 계획이 생겼으니 쉬어 가기 좋습니다. [다음: Adam의 걸음](2_adam_steps.ipynb)에서는 옵티마이저가 한 스텝에 얼마나 움직이는지 잽니다.
"""
