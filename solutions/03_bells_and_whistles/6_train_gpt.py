# %% [markdown]
r"""
# 작은 GPT를 처음부터 끝까지

이제 워밍업(warmup)과 감쇠와 클리핑을 함께 달고, 검증(validation)과 기록까지 갖추어 학습을 끝까지 해 봅니다. 모델이 쓴 글과 두 손실(loss)을 나란히 기록하는데, 먼저 손실이 어떻게 움직일지 골라 보세요.

**예측.** 학습(training) 데이터는 1만 5천 글자쯤입니다. 학습을 계속하면 검증 손실은 어떻게 될까요?

- a: 끝까지 내려갑니다.
- b: 내려가다가 중간에 다시 올라갑니다.
- c: 처음부터 올라갑니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 헌법을 배우는 GPT, 기록, 빌려 쓰는 lr_at
import math
from itertools import islice
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from torch.utils.data import DataLoader

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.data import (
    batch_stream,
    device,
    on_cpu,
    short_train,
    short_val,
    train_tokens,
    val_tokens,
    windows,
)
from grader.experiments.bells_and_whistles.gpt import make_gpt, token_loss
from grader.experiments.bells_and_whistles.parts import lr_at
from grader.experiments.bells_and_whistles.recording import Diary, evaluation, longest_copy
from grader.experiments.bells_and_whistles.stored import spelled
from grader.experiments.bells_and_whistles.training import climb_then, train_with
from grader.plots import COLORS, show, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("03-12")

# %%
# GPU가 있으면 더 깊은 모델을 더 오래 학습합니다
SIZES, EPOCHS = ({"width": 96, "depth": 1}, 14) if on_cpu else ({"width": 128, "depth": 4}, 30)
long_train, long_val = windows(train_tokens, 64), windows(val_tokens, 64)
model = make_gpt(0, context=64, dropout=0.1, **SIZES)
steps_per_epoch = math.ceil(len(long_train) / 16)
total = steps_per_epoch * EPOCHS
warmup = round(0.05 * total)
rates = climb_then("코사인", peak=0.003, warmup=warmup, total=total)
opt = torch.optim.AdamW(model.parameters())
diary = Diary(model, long_train, long_val, steps_per_epoch)  # 손실은 20스텝마다, 글은 에폭마다 적습니다
diary.write("학습 전", shown=True)
after = diary.watching(shown=(1, 2, 4, EPOCHS // 2, EPOCHS))
_, norms = train_with(rates, model, opt, batch_stream(long_train, 0), after=after)

# %% tags=["folded"]
# 그림과 확인: 본 토큰에 따른 두 손실, 노름, 외운 조각의 길이
# 에폭의 마지막 배치는 짧습니다. 지나간 에폭은 조각의 수로 세고, 이번 에폭은 배치의 수로 셉니다
epochs_and_steps = [divmod(step + 1, steps_per_epoch) for step in diary.step]
seen_tokens = [64 * (done * len(long_train) + steps * 16) for done, steps in epochs_and_steps]
turn = diary.val.index(min(diary.val))
figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.7))
thousands = [count / 1000 for count in seen_tokens]
axes[0].plot(thousands, diary.train, "--", color=COLORS["third"], label="학습 손실")
axes[0].plot(thousands, diary.val, color=COLORS["right"], label="검증 손실")
axes[0].plot(thousands[turn], diary.val[turn], "o", color=COLORS["wrong"], label="가장 낮은 검증 손실")
axes[0].set(title="1만 5천 글자는 금방 외웁니다", xlabel="본 토큰 (천 개)", ylabel="손실")
axes[0].legend()
axes[1].plot(norms, color=COLORS["third"], linewidth=0.9)
axes[1].axvspan(0, warmup, color=COLORS["grid"], alpha=0.7)
axes[1].axhline(1, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[1].set(
    title="노름은 워밍업 안팎에서 가장 큽니다",
    xlabel="스텝 (칠한 곳이 워밍업)",
    ylabel="노름",
    yscale="log",
)
show(
    figure,
    "왼쪽: 학습 손실은 끝까지 내려가고, 검증 손실은 3쯤에서 바닥을 찍고 다시 올라갑니다. "
    "오른쪽: 줄이기 전의 노름. 워밍업 안팎에서 가장 크고, 그 뒤 1 가까이로 내려갑니다. CPU에서는 끝으로 갈수록 천천히 다시 올라갑니다.",
)
print(f"가장 낮은 검증 손실 {diary.val[turn]:.2f} (스텝 {diary.step[turn]}), 끝 {diary.val[-1]:.2f}")
print(f"학습 손실은 그사이 {diary.train[turn]:.2f}에서 {diary.train[-1]:.2f}로")
targets = 64 * len(long_train)
print(f"글자는 {len(train_tokens):,}개, 한 에폭의 정답은 {targets:,}개")
quarter = total // 4
middle, end = median(norms[quarter : 2 * quarter]), median(norms[-quarter:])
print(f"노름의 중앙값: 학습의 25~50% 구간에서 {middle:.2f}, 75~100% 구간에서 {end:.2f}")
copied = [longest_copy(sample) for _, sample in diary.texts]
longest = {diary.texts[at][0]: f"{copied[at]}글자" for at in (0, 2, -1)}
print("학습 데이터에서 그대로 옮긴 가장 긴 조각:", longest)
clean = evaluation(model, long_train)
with torch.no_grad():
    noisy = token_loss(model.train(), long_train[:100]).item()
print(f"같은 모델의 학습 손실: 평가 모드 {clean:.2f}, 학습 모드(train mode) {noisy:.2f}")
assert 1.95 < targets / len(train_tokens) < 2
assert diary.train[0] > 5
assert diary.train[-1] < 2
assert diary.step[turn] < 0.85 * total
assert diary.val[-1] > diary.val[turn] + 0.05
assert diary.train[-1] < diary.train[turn] - 0.2
assert max(norms[: 3 * warmup]) == max(norms)
assert copied[-1] > copied[0]
assert noisy > 1.03 * clean
if on_cpu:
    assert end > middle
    assert sum(norm > 1 for norm in norms[-quarter:]) > 0.8 * quarter
else:  # 더 큰 모델은 30에폭이면 조문을 통째로 외웁니다
    assert copied[-1] > 20
reveal("03-12")

# %% [markdown]
r"""
## 1. 기록을 읽습니다

약 15분 · ★★☆

학습하면서 세 가지를 기록했습니다.

- **본 토큰의 수.** 배치 크기가 다르면 스텝 수로는 비교할 수 없습니다. 토큰 수로는 비교할 수 있습니다. 여기의 조각은 절반씩 겹치므로, 한 에폭(epoch)이면 글자마다 거의 두 번 정답이 됩니다. 「14에폭」이라고 하면 글을 28번 가까이 본 것입니다.
- **학습 손실과 검증 손실.** 몇 스텝마다 평가 모드(evaluation mode)에서 잽니다. 배치 손실은 드롭아웃(dropout)이 켜진 채로 잰 것이라 검증 손실과 나란히 놓을 수 없습니다.
- **에폭이 끝날 때마다 모델이 쓴 글.** 두 손실이 같아도 글은 다를 수 있습니다.

글을 읽어 보세요. 학습 전에는 아무 글자나 나옵니다. 한두 에폭이면 띄어쓰기와 조사, 헌법에 나오는 낱말이 생깁니다. 끝 무렵에는 문장이 조문처럼 이어지고 끝나지만, 아직 뜻이 통하지는 않습니다. 1만 5천 글자로 배울 수 있는 것은 말투의 겉모습까지입니다. 그 뒤로도 글은 그럴듯해 보이는데 검증 손실은 다시 올라갑니다. **그럴듯함은 외운 조각에서도 옵니다.** 사람이 읽고 고르면 과적합(overfitting)한 모델을 고르기 쉽습니다. 그래서 글과 함께 두 손실을 기록합니다.

노름(norm)도 살펴보세요. 가장 높은 곳은 워밍업 안팎입니다. CPU용 크기로 학습하면 그 뒤에 다시 조금씩 커져서, 끝 무렵에는 스텝 대부분에서 노름이 1을 넘어 클리핑됩니다. 이렇게 늘 걸리면 「튀는 배치만 줄인다」는 클리핑의 뜻은 사라집니다. 그래서 `max_norm`은 노름을 그려 보고 정합니다.

위에서는 두 손실을 언제나 같은 조각에서 쟀습니다. 많은 코드는, 그리고 아래에서 쓸 `train_gpt`는, 학습 손실을 `train_loader`의 앞 몇 배치로 잽니다. 이 로더는 에폭마다 순서를 섞습니다.

**예측.** 평가를 더 자주 하면, 학습에 쓰는 배치의 순서가 바뀔까요?

- a: 예. 그 에폭 안에서 바로 바뀝니다.
- b: 예. 다음 에폭부터 바뀝니다.
- c: 아니요. 평가는 모델도 데이터도 읽기만 합니다.
"""

# %% tags=["predict"]
predict("03-13")


# %%
def order_of_training(evaluate_every):
    """섞는 로더로 두 에폭을 돌며 본 순서입니다. evaluate_every 스텝마다 같은 로더의 앞 두 배치로 평가합니다."""
    loader = DataLoader(range(40), 4, shuffle=True, generator=torch.Generator().manual_seed(0))
    orders = []
    for epoch in range(2):
        orders.append([])
        for step, rows in enumerate(loader):
            orders[-1] += rows.tolist()
            if step % evaluate_every == 0:
                list(islice(loader, 2))
    return orders


# %% tags=["folded"]
# 실행과 확인: 두 에폭의 순서
rare, often = order_of_training(10), order_of_training(3)
same = [ours == theirs for ours, theirs in zip(rare, often, strict=True)]
for epoch, answer in enumerate(same, start=1):
    print(f"평가 주기를 바꾸어도 {epoch}에폭의 순서가 같을까요? {'예' if answer else '아니요'}")
assert same == [True, False]
reveal("03-13")

# %% [markdown]
r"""
평가 주기만 바꾼 두 학습이 다른 결과를 내면 이것부터 의심하세요. 두 학습을 비교하려면 평가에 쓸 배치를 따로 들고 있거나, 섞지 않는 로더를 하나 더 만듭니다.

### 연습. `train_gpt`

약 90분 · ★★★

지금까지의 것을 루프 하나에 모읍니다. 쓰기 전에 순서를 소리 내어 읽어 보세요.

1. 시작할 때 **그룹마다 정점을 적어 둡니다.** 학습이 시작되면 `group["lr"]`은 정점이 아닙니다.
2. 스텝마다 학습률을 먼저 정하고, 그레이디언트(gradient)를 지우고, 순전파(forward pass)하고, 역전파(backward pass)하고, 클리핑하고, 업데이트합니다.
3. 정한 스텝마다 평가 모드로 두 손실(앞 몇 배치의 손실을 그대로 평균한 것)을 재고, 본 토큰의 수를 적고, 학습 모드로 돌아옵니다.
4. 에폭이 끝나면 `on_epoch_end(model)`을 부릅니다. 이 함수가 글을 뽑느라 모델을 평가 모드로 바꾸어 놓았을 수 있습니다.

두 로더의 정답은 이미 한 칸 밀려 있습니다. 한 번 더 밀지 않습니다. `lr_at`은 앞에서 쓴 함수입니다. 여기서는 같은 학습률을 주는 것을 첫 셀에서 빌려 왔으니 그대로 부르면 됩니다.
"""


# %% tags=["exercise:train_gpt"]
def train_gpt(
    model,
    train_loader,
    val_loader,
    optimizer,
    *,
    device="cpu",
    n_epochs,
    eval_freq,
    eval_iter,
    warmup_steps,
    initial_lr=3e-5,
    min_lr=1e-6,
    max_norm=1.0,
    clip_after_warmup=False,
    on_epoch_end=None,
) -> dict:
    """GPT를 n_epochs 에폭 동안 학습하고 기록을 dict로 돌려줍니다.

    로더는 (입력, 정답) 토큰 번호를 주고, 정답은 이미 한 칸 밀려 있습니다. model(입력)은 (배치, 시간, 어휘) 로짓입니다.
    두 로더에는 배치가 적어도 하나 있고, n_epochs는 1 이상입니다. device는 모델이 이미 있는 장치입니다. 배치를 그리로 옮깁니다.
    학습률: s번째 업데이트(0부터) 앞에서 그룹마다 lr_at(s, ...)으로 정합니다.
            정점은 함수를 부를 때 그룹에 적혀 있던 학습률입니다.
    클리핑: 스텝마다 max_norm으로 줄입니다. clip_after_warmup이면 s == warmup_steps부터 줄입니다.
    평가: s가 eval_freq의 배수인 업데이트 뒤마다, 두 로더에서 앞의 eval_iter 배치씩(모자라면 있는 만큼) 평가 모드로 잰 손실의 평균입니다.
    에폭이 끝날 때마다 on_epoch_end(model)을 부릅니다.
    지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    on_epoch_end가 모드를 바꿔 놓아도 다음 에폭은 학습 모드로 돌고, 학습 모드로 끝납니다.

    기록: train_losses, val_losses, tokens_seen(평가마다 하나), lrs(첫 그룹의 학습률, 스텝마다 하나)
    """

    # BEGIN SOLUTION
    def batch_loss(inputs, targets):
        logits = model(inputs.to(device))
        # 위치 하나하나가 다음 토큰을 맞히는 문제입니다
        return F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())

    def mean_loss(loader):
        losses = [batch_loss(inputs, targets).item() for inputs, targets in islice(loader, eval_iter)]
        return sum(losses) / len(losses)

    history = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    total_steps = len(train_loader) * n_epochs
    # 정점은 지금 읽습니다. 학습이 시작되면 group["lr"]은 더 이상 정점이 아닙니다
    peak_lrs = [group["lr"] for group in optimizer.param_groups]
    tokens_seen = 0
    step = 0
    model.train()
    for epoch in range(n_epochs):
        for inputs, targets in train_loader:
            # 1. 이번 업데이트의 학습률을 그룹마다 정합니다
            for group, peak_lr in zip(optimizer.param_groups, peak_lrs, strict=True):
                group["lr"] = lr_at(
                    step,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak_lr,
                    min_lr=min_lr,
                )
            history["lrs"].append(optimizer.param_groups[0]["lr"])

            # 2. 한 스텝
            optimizer.zero_grad()
            loss = batch_loss(inputs, targets)
            loss.backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens_seen += inputs.numel()

            # 3. 첫 업데이트 뒤부터 eval_freq 스텝마다 평가합니다
            if step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    history["train_losses"].append(mean_loss(train_loader))
                    history["val_losses"].append(mean_loss(val_loader))
                model.train()
                history["tokens_seen"].append(tokens_seen)
            step += 1

        # 4. 에폭이 끝났음을 알립니다. 그동안 바뀌었을 모드를 되돌립니다
        if on_epoch_end is not None:
            on_epoch_end(model)
            model.train()
    return history
    # END SOLUTION


# %% tags=["check"]
check(train_gpt)

# %% [markdown]
r"""
다 썼으면 직접 쓴 `train_gpt`로 학습하고 기록을 그려 봅니다. 가로축은 아래가 본 토큰, 위가 에폭입니다. 통과했다면 카드 아래의 「현미경」도 눌러 보세요(새 셀에서는 `microscope(train_gpt)`). 업데이트 하나를 정답과 나란히 볼 수 있습니다.
"""


# %%
def pairs_of(parts):
    return [(part[:-1], part[1:]) for part in parts]


loaders = [
    DataLoader(pairs_of(parts), 16, shuffle=mix) for parts, mix in [(short_train, True), (short_val, False)]
]
model, history = make_gpt(0), None
opt = torch.optim.AdamW(model.parameters(), lr=0.003)
options = {"n_epochs": 2, "eval_freq": 10, "eval_iter": 5, "warmup_steps": 10}
try:
    history = train_gpt(model, *loaders, opt, device=device, **options)
except NotImplementedError:
    print("train_gpt를 완성하면 여기에 결과가 나옵니다.")

# %% tags=["folded"]
# 그림: 본 토큰과 에폭을 함께 가로축에 둔 학습 기록
if history is not None:
    figure, axis = plt.subplots()
    axis.plot(history["tokens_seen"], history["train_losses"], "--", color=COLORS["third"], label="학습 손실")
    axis.plot(history["tokens_seen"], history["val_losses"], color=COLORS["right"], label="검증 손실")
    axis.set(xlabel="본 토큰", ylabel="손실")
    per_epoch = short_train[:, 1:].numel()
    above = axis.secondary_xaxis("top", functions=(lambda x: x / per_epoch, lambda x: x * per_epoch))
    above.set_xlabel("에폭")
    axis.legend()
    show(figure, "직접 쓴 train_gpt의 기록: 본 토큰과 에폭에 따른 학습 손실과 검증 손실입니다.")

# %% [markdown]
r"""
## 2. 버그 찾기: 정점을 읽는 자리

약 10분 · ★★☆

널리 읽히는 코드에 되풀이해 나오는 오류 두 개입니다(코드는 새로 썼습니다). **읽고, 고른 다음, 실행하세요.**

3에폭을 학습합니다. 3에폭째의 가장 높은 학습률(learning rate)은, 바르게 짠 루프의 3에폭째와 비교해 어떨까요?

- a: 훨씬 낮습니다.
- b: 같습니다.
- c: 훨씬 높습니다.
"""


# %% tags=["find-the-bug"]
def peak_each_epoch(opt, steps_per_epoch, n_epochs, min_lr):
    total_steps, step, rates = steps_per_epoch * n_epochs, 0, []
    for epoch in range(n_epochs):
        peak_lr = opt.param_groups[0]["lr"]
        for _ in range(steps_per_epoch):
            progress = step / (total_steps - 1)
            opt.param_groups[0]["lr"] = min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))
            rates.append(opt.param_groups[0]["lr"])  # 여기에서 학습합니다
            step += 1
    return rates


# %% tags=["predict"]
predict("03-bug3")

# %%
found = peak_each_epoch(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.003), 40, 3, 1e-6)
planned = climb_then("코사인", peak=0.003, warmup=0, total=120)
ratios = [max(found[at : at + 40]) / max(planned[at : at + 40]) for at in (0, 40, 80)]
print("에폭마다 가장 높은 학습률의 비:", spelled(ratios))

# %% tags=["folded"]
# 그림과 확인: 두 학습률 곡선
figure, axis = plt.subplots(figsize=(7.2, 3.2))
axis.plot(planned, color=COLORS["right"], label="정점을 처음에 한 번 읽음")
axis.plot(found, "--", color=COLORS["wrong"], label="peak_each_epoch")
axis.set(title="에폭이 바뀔 때마다 정점이 낮아집니다", xlabel="스텝", ylabel="학습률")
axis.legend()
show(
    figure,
    "바른 학습률은 코사인을 따라 매끄럽게 내려옵니다. peak_each_epoch의 학습률은 첫 에폭에서 겹치다가, "
    "둘째와 셋째 에폭이 시작할 때 계단처럼 떨어져 훨씬 낮은 곳을 지납니다.",
)
assert ratios[0] == 1.0
assert ratios[2] < 0.3
assert torch.optim.AdamW([nn.Parameter(torch.zeros(1))]).param_groups[0]["lr"] == 1e-3
reveal("03-bug3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`group["lr"]`은 두 가지 뜻으로 쓰입니다. 학습이 시작되기 전에는 사람이 정한 정점이고, 시작된 다음에는 지금의 학습률입니다. 정점은 루프에 들어가기 전에 따로 적어 둡니다.

같은 일이 함수 밖에서도 일어납니다. 정점을 옵티마이저(optimizer)에서 읽는 학습 함수를 **같은 옵티마이저로 두 번** 부르면, 두 번째의 정점은 첫 번째가 남긴 `min_lr`입니다. 다시 부르기 전에 `group["lr"]`을 되돌려 놓습니다. 옵티마이저를 만들 때 `lr=`을 빠뜨려도 오류가 나지 않습니다. AdamW의 기본값 0.001이 정점이 됩니다.

</details>

**물음.** 이번에는 임베딩은 정점 0.0003으로 조심스럽게, 나머지는 정점 0.003으로 학습하려고 그룹을 나누었습니다. 옵티마이저의 첫 그룹은 나머지, 둘째 그룹은 임베딩입니다. 다섯 번째 스텝의 학습률은 정점의 절반이어야 합니다. 다섯 스텝 뒤에 임베딩의 학습률은 얼마일까요?

- a: 0.00015
- b: 0.0003
- c: 0.0015
"""


# %% tags=["find-the-bug"]
def one_peak_for_all(opt, rate_at, n_steps):
    peak_lr = opt.param_groups[0]["lr"]
    for step in range(n_steps):
        lr = rate_at(step, peak_lr)
        for group in opt.param_groups:
            group["lr"] = lr
        opt.step()


# %% tags=["predict"]
predict("03-bug4")

# %%
model = make_gpt(0)
gentle = [model.character.weight, model.position.weight]
rest = [p for p in model.parameters() if not any(p is other for other in gentle)]
opt = torch.optim.AdamW([{"params": rest, "lr": 0.003}, {"params": gentle, "lr": 0.0003}])
one_peak_for_all(opt, lambda step, peak_lr: peak_lr * (step + 1) / 10, 5)
now = {name: group["lr"] for name, group in zip(["나머지", "임베딩"], opt.param_groups, strict=True)}
print("다섯 스텝 뒤의 학습률:", now)

# %% tags=["folded"]
# 확인: 두 그룹의 학습률
assert now["임베딩"] == now["나머지"] == 0.0015
reveal("03-bug4")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

그룹이 하나일 때는 드러나지 않습니다. 계층(layer)마다 학습률을 다르게 하거나 미세 조정에서 출력 계층만 빨리 배우게 할 때 조용히 깨집니다. 가중치 감쇠(weight decay) 때문에 그룹을 나누는 코드도 많습니다. 정점을 **그룹마다** 적어 두고, 그룹마다 자기 정점으로 계산합니다. `LambdaLR` 같은 스케줄러(scheduler)는 그룹마다 적어 둔 `initial_lr`에 배율을 곱하므로 이 문제가 없습니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 스케줄, 클리핑, 평가, 기록을 갖춘 GPT의 학습 루프를 처음부터 씁니다.
- 학습·검증 손실 곡선과 노름을 읽고, 외우기 시작하는 곳을 찾습니다.

이 레슨에서 가장 긴 함수를 마쳤으니 오늘은 여기서 쉬어도 좋습니다. [다음: 길이가 다른 글을 누적합니다](7_unequal_lengths.ipynb)가 이 레슨의 마지막입니다.
"""
