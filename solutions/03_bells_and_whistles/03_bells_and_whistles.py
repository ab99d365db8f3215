# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# 학습을 안정시키는 장치

언어 모델의 학습(training) 루프에는 다섯 줄 말고도 늘 따라다니는 것이 있습니다. 처음에 학습률(learning rate)을 천천히 올리고, 끝으로 갈수록 내리고, 너무 큰 그레이디언트(gradient)를 자릅니다. 대개는 남의 코드에서 값까지 그대로 옮겨 옵니다.

여기서는 하나씩 떼어 보고 다시 달아 봅니다. 대상은 대한민국헌법을 한 글자씩 배우는 작은 GPT입니다. 아무 글자나 내놓던 모델이 조문 비슷한 글을 쓰게 될 때까지, 장치 하나하나가 무엇을 바꾸는지 잽니다.

| 장치 | 재는 것 | 절 |
|---|---|---|
| 스텝 수 계획 | 스텝을 잘못 세면 학습률이 어디에서 끝나는지 | 2 |
| 워밍업(warmup) | Adam의 처음 몇 스텝이 왜 거친지, 워밍업이 언제 필요하고 언제 손해인지 | 3 |
| 코사인 감쇠(cosine decay)와 선형 감쇠 | 둘의 차이, 없을 때와의 차이 | 4 |
| 그레이디언트 클리핑(gradient clipping) | 언제 걸리는지, 별난 배치 하나가 무엇을 남기는지 | 5 |
| 평가와 기록 | 과적합(overfitting)이 시작되는 곳 | 6 |
| 토큰을 세는 누적 | 2024년까지 큰 라이브러리에 있던 오류 | 7 |

이 노트북을 마치면 다음을 할 수 있습니다.

- 학습률 스케줄을 식 하나로 쓰고, 양 끝의 값을 한 스텝도 어긋나지 않게 맞춥니다.
- 워밍업, 감쇠, 클리핑이 무엇을 고치는지, 언제 필요 없는지를 수치로 말합니다.
- 작은 GPT의 학습 루프를 처음부터 끝까지 쓰고, 손실(loss) 두 줄을 읽습니다.
- 길이가 다른 글을 누적해도 큰 배치와 똑같은 업데이트를 합니다.

읽는 데 23분쯤 걸리고, 연습 다섯 개가 있습니다. 예측 셀에 먼저 답을 적고 실행합니다. 연습의 함수를 쓰고 `check(...)`를 실행합니다. 막히면 `hint("lr_at")`처럼 힌트를 봅니다. 본문의 수치는 여기에서 재고, 결론은 `assert`로 확인합니다. 실험 코드는 건너뛰고 예측과 결과만 읽어도 됩니다.
"""

# %%
import math
from itertools import islice
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from grader import check, hint
from grader.paths import asset_path
from grader.plots import COLORS, reveal, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"

# 대한민국헌법 전체입니다. 법률은 저작권의 보호를 받지 않습니다. 출처는 글과 같은 폴더의 README.md에 있습니다
text = asset_path("data", "constitution", "constitution.txt").read_text(encoding="utf-8")
alphabet = sorted(set(text))
number_of = {character: number for number, character in enumerate(alphabet)}
tokens = torch.tensor([number_of[character] for character in text])

# 제6장까지는 학습에, 제7장부터는 검증(validation)에 씁니다
border = text.index("\n제7장 선거관리")
train_tokens, val_tokens = tokens[:border], tokens[border:]


def windows(tokens, length):
    """length + 1글자씩, 절반을 겹쳐 자릅니다. 앞의 length글자가 입력이고, 한 칸 민 것이 정답입니다."""
    return tokens.unfold(0, length + 1, length // 2).to(device)


print(f"PyTorch {torch.__version__}, {device}")
print(f"{len(text):,}글자, 서로 다른 글자 {len(alphabet)}가지")
print(f"학습 {len(train_tokens):,}글자, 검증 {len(val_tokens):,}글자")
inputs, targets = windows(train_tokens, 12)[5, :-1], windows(train_tokens, 12)[5, 1:]
print("입력:", repr("".join(alphabet[number] for number in inputs)))
print("정답:", repr("".join(alphabet[number] for number in targets)))
assert torch.equal(inputs[1:], targets[:-1])
assert border < 0.85 * len(text)

# %% [markdown]
r"""
## 1. 조문을 배우는 GPT

토큰(token)은 글자 하나입니다. 모델은 앞의 글자들을 보고 다음 글자를 맞힙니다. 입력이 열두 글자면 문제도 열둘입니다. 위치마다 거기까지의 글자만 보고 다음 한 글자를 맞힙니다.

GPT는 마흔 줄이면 됩니다. 처음 보는 코드라면 `forward` 두 개만 읽어도 이 노트북을 따라올 수 있습니다.
"""


# %%
class Block(nn.Module):
    """앞의 글자들을 둘러보고(attention), 위치마다 따로 계산합니다(mlp)."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)  # 편향(bias)을 두지 않는 까닭은 3절에 있습니다
        self.project = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, time, width = x.shape
        query, key, value = (
            self.qkv(self.norm_1(x)).view(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)  # 뒤의 글자는 보지 못합니다
        x = x + self.dropout(self.project(mixed.transpose(1, 2).reshape(batch, time, width)))
        return x + self.dropout(self.mlp(self.norm_2(x)))


class GPT(nn.Module):
    def __init__(self, *, width=64, depth=2, heads=4, context=32, dropout=0.0, std=0.02):
        super().__init__()
        self.context = context
        self.character = nn.Embedding(len(alphabet), width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(alphabet), bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                nn.init.normal_(parameter, std=std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, ids):
        x = self.character(ids) + self.position.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))  # (배치, 시간, 글자) 로짓(logits)


def make_gpt(seed, **sizes):
    torch.manual_seed(seed)
    return GPT(**sizes).to(device)


def token_loss(model, part):
    """조각 여러 개에서, 모든 위치의 다음 글자 손실을 평균한 값입니다."""
    return F.cross_entropy(model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten())


@torch.no_grad()
def write(model, start, count=70, seed=1):
    """start에 이어 글자를 하나씩 뽑아 붙입니다."""
    model.eval()
    generator = torch.Generator().manual_seed(seed)
    ids = [number_of[character] for character in start]
    for _ in range(count):
        logits = model(torch.tensor([ids[-model.context :]], device=device))[0, -1]
        ids.append(torch.multinomial((logits.cpu() / 0.5).softmax(-1), 1, generator=generator).item())
    model.train()
    return "".join(alphabet[number] for number in ids)


short_train, short_val = windows(train_tokens, 32), windows(val_tokens, 32)
print(f"매개변수(parameter) {sum(p.numel() for p in make_gpt(0).parameters()):,}개")

# %% [markdown]
r"""
짧은 비교에는 이 크기의 모델과 32글자짜리 조각을 씁니다. 6절에서 더 큰 모델을 더 오래 학습합니다.

**예측 1.** 아직 학습하지 않은 모델의 손실은 얼마쯤입니까? 글자는 379가지입니다.

- a: 약 1
- b: 약 6
- c: 약 379
"""

# %% tags=["predict"]
guess_1 = None  # "a", "b", "c" 가운데 하나

# %%
with torch.no_grad():
    first_losses = [token_loss(make_gpt(seed), short_train).item() for seed in range(3)]
    loud_losses = [token_loss(make_gpt(seed, std=1.0), short_train).item() for seed in range(3)]
print(f"처음 손실 {median(first_losses):.2f}, ln 379 = {math.log(379):.2f}")
print(f"초기 가중치를 쉰 배로 키우면(표준편차 1) {median(loud_losses):.1f}")
print("학습하기 전의 글:", repr(write(make_gpt(0), "국회는 ", 40)))
assert all(abs(loss - math.log(379)) < 0.05 for loss in first_losses)
assert min(loud_losses) > 10
reveal(guess_1, "b", "아무것도 모르면 확률을 379개에 고르게 나눕니다. 그때의 손실이 $\\ln 379$입니다.")

# %% [markdown]
r"""
첫 손실이 $\ln(\text{글자 수})$와 다르면 학습을 시작하기 전에 멈추고 살펴봅니다. 초기 가중치(weight)가 너무 크면 위처럼 첫 손실이 훨씬 높습니다. 아무것도 모르면서 틀린 답을 확신합니다.

앞으로의 실험은 모두 아래 함수로 합니다. **스텝마다 쓸 학습률을 리스트로 줍니다.** 스케줄을 바꾸는 실험은 리스트만 바꾸면 됩니다.
"""


# %%
def batch_stream(parts, seed, size=16):
    """에폭(epoch)마다 다시 섞어 끝없이 배치를 줍니다."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.randperm(len(parts), generator=generator).split(size):
            yield parts[rows.to(device)]


def train_with(rates, model, opt, stream, *, clip_from=0, max_norm=1.0, rogue=None, after=None):
    """rates에 적힌 학습률로 한 스텝(step)씩 학습하고, 배치 손실과 자르기 전의 노름(norm)을 돌려줍니다.

    clip_from: 이 스텝부터 자릅니다. math.inf이면 끝까지 재기만 합니다.
    rogue: 이 스텝의 손실만 평균이 아니라 합으로 구합니다.
    after(step): 스텝이 끝날 때마다 부릅니다.
    """
    losses, norms = [], []
    for step, (rate, part) in enumerate(zip(rates, stream, strict=False)):
        for group in opt.param_groups:
            group["lr"] = rate
        opt.zero_grad()
        loss = token_loss(model, part)
        (loss * part[:, 1:].numel() if step == rogue else loss).backward()
        limit = max_norm if step >= clip_from else math.inf
        norms.append(clip_grad_norm_(model.parameters(), limit).item())
        opt.step()
        losses.append(loss.item())
        if after is not None:
            after(step)
    return losses, norms


def climb_then(shape, *, peak, warmup, total, initial=3e-5, lowest=1e-6):
    """초기값에서 정점까지 오른 다음 shape("상수", "직선", "코사인")대로 가는 학습률의 리스트입니다."""
    grid = {"steps": total - warmup, "dtype": torch.float64}
    height = {
        "상수": torch.linspace(1, 1, **grid),
        "직선": torch.linspace(1, 0, **grid),
        "코사인": (1 + torch.linspace(0, math.pi, **grid).cos()) / 2,
    }[shape]
    up = torch.linspace(initial, peak, warmup + 1, dtype=torch.float64)[:-1]
    return torch.cat([up, lowest + (peak - lowest) * height]).tolist()


def short_run(rates, seed, **settings):
    """작은 GPT를 AdamW로 학습하고 (배치 손실, 노름, 마지막 검증 손실)을 돌려줍니다. 클리핑은 clip_from을 줄 때만 합니다."""
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters())
    log = train_with(
        rates, model, opt, batch_stream(short_train, seed), **{"clip_from": math.inf, **settings}
    )
    with torch.no_grad():
        return *log, token_loss(model, short_val).item()


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


# %% [markdown]
r"""
## 2. 스텝을 셉니다

스케줄은 전체 스텝 수를 미리 알아야 그릴 수 있습니다. 스텝은 `opt.step()` 한 번입니다. 누적하면 스텝 수는 배치 수와 다릅니다.

**예측 2.** 한 에폭에 배치가 30개이고, 네 개씩 누적해 열두 에폭을 학습합니다. 에폭 끝에 남은 배치로도 업데이트합니다. `opt.step()`은 몇 번 불립니까?

- a: 360번
- b: 96번
- c: 90번
"""

# %% tags=["predict"]
guess_2 = None  # "a", "b", "c" 가운데 하나

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
assert calls == 96
assert 0.85 < planned[95] < 0.9
reveal(
    guess_2,
    "b",
    "구간(window)은 에폭을 넘어 이어지지 않습니다. 에폭마다 일곱 번 반이니 올림해서 여덟 번입니다.",
)

# %% [markdown]
r"""
배치를 세어 360스텝으로 계획하면 스케줄은 끝까지 가지 못합니다. 학습이 끝날 때 학습률은 아직 정점의 90%에 가깝습니다. 오류는 나지 않고, 감쇠가 거의 없는 학습이 됩니다.

워밍업의 길이는 전체의 비율로 정할 때가 많습니다. 흔히 0.1%에서 20% 사이를 씁니다. 짧은 학습에서는 비율이 작으면 반올림한 값이 0이 되므로, 적어도 한 스텝은 둡니다.

### 연습 1. `plan_steps`
"""


# %% tags=["exercise:plan_steps"]
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    """(전체 스텝 수, 워밍업 스텝 수)를 돌려줍니다. 스텝은 마이크로 배치가 아니라 opt.step() 한 번입니다.

    n_batches: 한 에폭의 (마이크로) 배치 수입니다.
    warmup_ratio: 전체에서 워밍업이 차지하는 비율입니다. 0.001 이상 0.2 이하가 아니면 ValueError를 냅니다.
    accum_steps: 배치를 이만큼 모아 한 번 업데이트합니다. 에폭 끝의 모자란 구간도 한 스텝입니다.

    워밍업은 반올림하고, 적어도 한 스텝입니다.
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
## 3. 워밍업: Adam의 처음 몇 스텝은 거칩니다

「처음에는 가중치가 제멋대로라 불안정하니 학습률을 낮게 시작한다.」 자주 듣는 설명이지만 무엇이 불안정한지는 말하지 않습니다. Adam이 첫 스텝에 하는 일을 봅니다.

**예측 3.** 손실에 1,000을 곱하고 첫 업데이트를 합니다. 그레이디언트는 1,000배가 됩니다. AdamW가 가중치를 옮기는 거리는 몇 배가 됩니까?

- a: 1,000배
- b: 약 32배 ($\sqrt{1000}$)
- c: 1배
"""

# %% tags=["predict"]
guess_3 = None  # "a", "b", "c" 가운데 하나


# %%
def first_move(make_opt, scale):
    """손실에 scale을 곱하고 한 번 업데이트했을 때 가중치마다 움직인 양입니다."""
    model = make_gpt(0)
    before = flat(model.parameters())
    opt = make_opt(model.parameters())
    (token_loss(model, short_train[:16]) * scale).backward()
    opt.step()
    return flat(model.parameters()) - before


def sgd(params):
    return torch.optim.SGD(params, lr=1e-3)


def adamw(params):
    return torch.optim.AdamW(params, lr=1e-3, weight_decay=0.0)


growth = {
    name: (first_move(make_opt, 1000.0).norm() / first_move(make_opt, 1.0).norm()).item()
    for name, make_opt in {"SGD": sgd, "AdamW": adamw}.items()
}
moved = first_move(adamw, 1.0).abs() / 1e-3
print("손실을 1,000배 했을 때 움직인 거리의 비:", {name: f"{ratio:.2f}" for name, ratio in growth.items()})
print(
    f"AdamW의 첫 업데이트에서 학습률의 0.9~1.1배 움직인 가중치: {((moved - 1).abs() < 0.1).float().mean():.0%}"
)
assert 990 < growth["SGD"] < 1010
assert 0.9 < growth["AdamW"] < 1.2
assert ((moved - 1).abs() < 0.1).float().mean() > 0.8
assert moved.max() < 1.01
reveal(guess_3, "c", "첫 스텝에서 Adam은 그레이디언트를 그 절댓값으로 나눕니다. 남는 것은 부호뿐입니다.")

# %% [markdown]
r"""
Adam과 AdamW는 그레이디언트의 이동 평균 $m$을, 제곱의 이동 평균 $v$의 제곱근으로 나눕니다. 첫 스텝에서는 $m$도 $v$도 배치 하나로 만든 값이고, 보정(bias correction)을 거치면 $m = g$, $v = g^2$이 됩니다. 그래서 $m/\sqrt{v} = g/|g|$, **부호만 남습니다.** 가중치 대부분이 똑같이 학습률만큼 움직입니다.

문제는 그 부호를 배치 하나가 정한다는 점입니다. 학습 데이터 전체로 구한 그레이디언트와 견주어 봅니다. 그다음 업데이트의 길이를 백 스텝 동안 재 봅니다. 학습률은 0.001로 고정합니다.

**예측 4.** 첫 업데이트의 길이는 백 번째쯤 업데이트의 몇 배입니까?

- a: 거의 같습니다. 학습률이 같습니다.
- b: 세 배쯤입니다.
- c: 3분의 1쯤입니다.
"""

# %% tags=["predict"]
guess_4 = None  # "a", "b", "c" 가운데 하나

# %%
model = make_gpt(0)
token_loss(model, short_train).backward()
whole = flat(p.grad for p in model.parameters())
model.zero_grad()
token_loss(model, next(batch_stream(short_train, seed=0))).backward()
single = flat(p.grad for p in model.parameters())
faint = whole.abs() < whole.abs().median()
agree = {
    "그레이디언트가 큰 절반": (single.sign() == whole.sign())[~faint].float().mean().item(),
    "그레이디언트가 작은 절반": (single.sign() == whole.sign())[faint].float().mean().item(),
}
show_table(
    ["가중치", "배치 하나의 부호가 전체 데이터의 부호와 같은 비율"],
    [[k, f"{v:.0%}"] for k, v in agree.items()],
)
likeness = {
    "그레이디언트 그대로 (SGD)": F.cosine_similarity(single, whole, dim=0).item(),
    "부호만 (Adam의 첫 스텝)": F.cosine_similarity(single.sign(), whole, dim=0).item(),
}
show_table(
    ["업데이트의 방향", "전체 데이터의 방향과의 코사인"], [[k, f"{v:.2f}"] for k, v in likeness.items()]
)

lengths, turns = [], []
model = make_gpt(0)
places = [flat(model.parameters())]


def remember_move(step):
    places.append(flat(model.parameters()))
    lengths.append((places[-1] - places[-2]).norm().item() / 1e-3)
    if step > 0:
        turns.append(F.cosine_similarity(places[-1] - places[-2], places[-2] - places[-3], dim=0).item())


opt = torch.optim.AdamW(model.parameters())
train_with([1e-3] * 100, model, opt, batch_stream(short_train, 0), clip_from=math.inf, after=remember_move)
calm = median(lengths[80:])
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
axes[0].plot(lengths, color=COLORS["wrong"])
axes[0].axhline(calm, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[0].set(title="첫 업데이트가 가장 깁니다", xlabel="스텝", ylabel="길이 ÷ 학습률", ylim=(0, None))
axes[1].plot(range(1, 100), turns, color=COLORS["right"])
axes[1].set(title="같은 쪽으로 이어서 갑니다", xlabel="스텝", ylabel="앞 업데이트와의 코사인", ylim=(0, 1.05))
show(
    figure,
    "왼쪽: 업데이트는 첫 스텝에서 가장 길고, 서른 스텝쯤 지나면 길이가 그 3분의 1 가까이에서 거의 평평해집니다. "
    "오른쪽: 처음 몇 스텝을 지나면 이웃한 두 업데이트는 거의 같은 쪽을 가리킵니다.",
)
print(f"첫 업데이트의 길이는 여든 번째가 지난 뒤의 {lengths[0] / calm:.1f}배")
assert agree["그레이디언트가 큰 절반"] > 0.75
assert 0.48 < agree["그레이디언트가 작은 절반"] < 0.6
assert likeness["그레이디언트 그대로 (SGD)"] > 0.85
assert likeness["부호만 (Adam의 첫 스텝)"] < 0.4
assert 2.5 < lengths[0] / calm < 5
assert lengths.index(max(lengths)) == 0
assert median(turns[4:20]) > 0.85
reveal(
    guess_4, "b", "학습률이 같아도 첫 업데이트가 훨씬 깁니다. 가중치 대부분이 한꺼번에 한도까지 움직입니다."
)

# %% [markdown]
r"""
세 가지가 겹칩니다.

1. **길이:** 첫 업데이트는 나중의 세 배쯤입니다.
2. **방향:** 그레이디언트가 작은 절반은 부호가 동전 던지기나 다름없는데, 그 가중치도 대부분 학습률만큼 움직입니다. 그레이디언트를 그대로 쓰면 전체 데이터의 방향과 거의 같은데, 부호만 남기면 크게 벗어납니다.
3. **쏠림:** 이동 평균이 방향을 기억하므로 이웃한 업데이트는 거의 같은 쪽으로 갑니다. 처음에는 걸음까지 길어서 한쪽으로 멀리 갑니다.

GPT의 `qkv`에 편향을 두지 않은 까닭도 여기에 있습니다. 키의 편향은 쿼리마다 모든 점수에 같은 수를 더하는데, 모두에 같은 수를 더하면 softmax의 결과는 바뀌지 않습니다. 그러니 진짜 그레이디언트는 0입니다. 실제로는 반올림 오차가 남고, Adam은 그 부호를 따라 움직입니다.
"""

# %%
torch.manual_seed(0)
query, key, value, wanted = torch.randn(4, 8, 4, 32, 16).unbind(0)
key_bias = nn.Parameter(torch.zeros(16))
opt = torch.optim.AdamW([key_bias], lr=0.01)
mixed = F.scaled_dot_product_attention(query, key + key_bias, value)
(mixed * wanted).sum().backward()
opt.step()
print(f"키 편향의 그레이디언트: 최대 {key_bias.grad.abs().max():.0e}")
print(f"AdamW가 옮긴 거리: 최대 {key_bias.abs().max():.4f} (학습률 0.01)")
assert key_bias.grad.abs().max() < 1e-4
assert key_bias.abs().max() > 0.005

# %% [markdown]
r"""
워밍업은 이 거친 처음을 낮은 학습률로 지나갑니다. 그사이 $v$에 여러 배치가 섞이고 업데이트가 짧아집니다. 그렇다면 언제나 이득입니까?

**예측 5.** 100스텝을 학습합니다. 정점이 0.001일 때와 0.006일 때, 처음 마흔 스텝을 워밍업으로 쓰면 쓰지 않을 때와 견주어 마지막 학습 손실은 어떻게 됩니까?

- a: 둘 다 낮아집니다.
- b: 0.006에서만 낮아지고, 0.001에서는 오히려 조금 높아집니다.
- c: 0.001에서만 낮아집니다. 0.006은 워밍업으로도 살릴 수 없습니다.
"""

# %% tags=["predict"]
guess_5 = None  # "a", "b", "c" 가운데 하나

# %%
curves = {}
for peak in [0.001, 0.006]:
    for warmup in [0, 40]:
        rates = climb_then("상수", peak=peak, warmup=warmup, total=100)
        curves[peak, warmup] = [short_run(rates, seed)[0] for seed in range(3)]
finals = {setting: [sum(curve[-10:]) / 10 for curve in runs] for setting, runs in curves.items()}
show_table(
    ["정점", "워밍업", "마지막 열 배치의 손실 (시드(seed) 셋)"],
    [
        [peak, f"{warmup}스텝", " · ".join(f"{loss:.2f}" for loss in finals[peak, warmup])]
        for peak, warmup in finals
    ],
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for axis, peak in zip(axes, [0.001, 0.006], strict=True):
    for warmup, color, style in [(0, COLORS["wrong"], "--"), (40, COLORS["right"], "-")]:
        label = f"워밍업 {warmup}스텝" if warmup else "워밍업 없음"
        for seed, curve in enumerate(curves[peak, warmup]):
            axis.plot(curve, style, color=color, linewidth=1.2, label=label if seed == 0 else None)
    axis.set(title=f"정점 {peak}: 워밍업이 {'손해' if peak == 0.001 else '이득'}입니다", xlabel="스텝")
axes[0].set_ylabel("배치 손실")
axes[0].legend(loc="upper right")
show(
    figure,
    "왼쪽, 정점 0.001: 워밍업이 없는 쪽이 먼저 내려가고 끝까지 조금 더 낮습니다. "
    "오른쪽, 정점 0.006: 워밍업이 없으면 처음에 빨리 내려가다가 3과 4 사이에서 멈추고, 워밍업이 있으면 3 아래까지 내려갑니다.",
)
assert min(finals[0.006, 0]) - max(finals[0.006, 40]) > 0.1
assert median(finals[0.006, 0]) - median(finals[0.006, 40]) > 0.4
assert all(curve[-1] < 5 for curve in curves[0.006, 0])  # 발산한 것은 아닙니다
assert all(0 < slow - fast < 0.4 for slow, fast in zip(finals[0.001, 40], finals[0.001, 0], strict=True))
reveal(guess_5, "b", "높은 학습률로 가려면 필요하고, 낮은 학습률에서는 천천히 출발한 만큼 손해입니다.")

# %% [markdown]
r"""
정점 0.006에서 워밍업을 빼도 발산하지 않고 NaN도 나지 않습니다. **조금 배우다가 멈춥니다.** 손실이 6에서 4 아래로 내려왔으니 나란히 놓고 보지 않으면 정상으로 보입니다. 처음의 거친 업데이트가 보낸 곳에서, 백 스텝 안에는 빠져나오지 못했습니다.

반대로 정점이 0.001이면 워밍업은 손해입니다. 워밍업은 안전장치가 아니라 **더 높은 학습률을 쓰려고 치르는 값**입니다.

## 4. 감쇠: 끝으로 갈수록 좁게 움직입니다

정점에서 가장 낮은 값까지 내려갈 때는 두 가지 모양을 많이 씁니다. 코사인의 반 주기와 직선입니다.

**예측 6.** 시작과 끝이 같은 두 내리막의 **평균 학습률**은 어느 쪽이 높습니까?

- a: 코사인
- b: 직선
- c: 같습니다.

**예측 7.** 180스텝을 학습합니다. 워밍업은 마흔 스텝입니다. 감쇠하면 정점에 그대로 머물 때보다 학습 손실이 낮아지는 것은 어느 쪽입니까?

- a: 정점이 0.002일 때와 0.01일 때 모두
- b: 0.002일 때만
- c: 0.01일 때만
"""

# %% tags=["predict"]
guess_6 = None  # "a", "b", "c" 가운데 하나
guess_7 = None  # "a", "b", "c" 가운데 하나

# %%
SHAPES = {"상수": ("wrong", ":"), "코사인": ("right", "-"), "직선": ("third", "--")}
drawn = {shape: climb_then(shape, peak=0.01, warmup=40, total=180) for shape in SHAPES}
figure, axis = plt.subplots()
for shape, (color, style) in SHAPES.items():
    axis.plot(drawn[shape], style, color=COLORS[color], label=shape)
axis.axvspan(0, 40, color=COLORS["grid"], alpha=0.6)
axis.text(2, 0.0093, "워밍업", color=COLORS["muted"])
axis.set(title="코사인과 직선은 양 끝과 가운데에서 만납니다", xlabel="스텝", ylabel="학습률")
axis.legend(loc="lower center")
show(
    figure,
    "학습률 곡선 셋. 모두 마흔 스텝 동안 곧게 올라 정점 0.01에 이릅니다. 그 뒤 상수는 머물고, 코사인은 처음에 직선보다 높다가 "
    "가운데에서 만나고 끝에서는 더 낮으며, 마지막 스텝에서 둘 다 바닥에 닿습니다.",
)
for shape in ["코사인", "직선"]:
    assert drawn[shape][0] == 3e-5
    assert drawn[shape][40] == 0.01
    assert math.isclose(drawn[shape][179], 1e-6, rel_tol=1e-9)
    assert all(later < earlier for earlier, later in zip(drawn[shape][40:], drawn[shape][41:], strict=False))
average = {shape: sum(drawn[shape][40:]) / 140 for shape in SHAPES}
print("내리막의 평균 학습률:", {shape: f"{rate:.5f}" for shape, rate in average.items()})
assert math.isclose(average["코사인"], average["직선"], rel_tol=1e-9)
assert drawn["코사인"][75] > drawn["직선"][75]
assert drawn["코사인"][145] < drawn["직선"][145]
reveal(
    guess_6, "c", "가운데를 중심으로 대칭이라 평균이 같습니다. 코사인은 높은 쪽과 낮은 쪽에 더 오래 머뭅니다."
)

finals, val_finals = {}, {}
for peak, shapes in {0.002: ["상수", "코사인"], 0.01: ["상수", "코사인", "직선"]}.items():
    for shape in shapes:
        rates = climb_then(shape, peak=peak, warmup=40, total=180)
        runs = [short_run(rates, seed, clip_from=0) for seed in range(2)]
        finals[peak, shape] = [sum(curve[-15:]) / 15 for curve, _, _ in runs]
        val_finals[peak, shape] = [val_loss for _, _, val_loss in runs]
show_table(
    ["정점", "워밍업 뒤", "마지막 열다섯 배치의 손실 (시드 둘)", "검증 손실"],
    [
        [*setting, *(" · ".join(f"{loss:.2f}" for loss in table[setting]) for table in (finals, val_finals))]
        for setting in finals
    ],
)
for shape in ["코사인", "직선"]:
    assert all(low < high - 0.02 for low, high in zip(finals[0.01, shape], finals[0.01, "상수"], strict=True))
assert all(
    low < high - 0.02 for low, high in zip(finals[0.002, "상수"], finals[0.002, "코사인"], strict=True)
)
gaps = [
    abs(first - second) for first, second in zip(finals[0.01, "코사인"], finals[0.01, "직선"], strict=True)
]
assert max(gaps) < 0.1
assert median(val_finals[0.002, "상수"]) < median(val_finals[0.01, "코사인"])
reveal(guess_7, "c", "0.002에서는 아직 갈 길이 먼데 속도를 줄인 셈입니다. 감쇠도 정점이 높을 때 이득입니다.")

# %% [markdown]
r"""
코사인과 직선의 차이는 이 실험에서 거의 없습니다. 널리 쓰인다고 해서 코사인의 모양이 특별히 낫지는 않았습니다. 모양보다 **내리느냐 마느냐**와 **정점이 얼마나 높으냐**가 중요합니다.

표의 마지막 열도 보세요. 학습 손실은 정점 0.01에서 내린 쪽이 가장 낮은데, 검증 손실은 0.002의 상수가 더 낮습니다. 데이터가 1만 5천 글자뿐이라 빨리 배울수록 빨리 외웁니다. 스케줄을 고를 때 학습 손실만 보면 안 되는 까닭입니다.

### 연습 2. `lr_at`

리스트를 만들지 않고, `step` 하나를 받아 그 스텝의 학습률을 돌려줍니다. 끝을 어떻게 맞출지가 문제입니다. 스텝이 0부터 시작하므로 마지막 스텝은 `total_steps − 1`입니다. **마지막 업데이트가 정확히 `min_lr`을 씁니다.** 워밍업이 전체와 같거나 한 스텝 짧으면 내리막의 분모가 0 이하가 됩니다. 식을 쓰기 전에 그 두 경우를 어디에서 거를지 정하세요.
"""


# %% tags=["exercise:lr_at"]
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    """step번째 업데이트(0부터)에 쓸 학습률입니다.

    step < warmup_steps        initial_lr에서 peak_lr로 곧게 올라갑니다. step = warmup_steps에서 peak_lr입니다.
    그 뒤                      peak_lr에서 min_lr로 내려갑니다. decay는 "cosine"이나 "linear"입니다.
    step ≥ total_steps − 1     min_lr입니다. 단, step < warmup_steps이면 오르막이 먼저입니다.

    warmup_steps는 0일 수도, total_steps일 수도 있습니다. 모르는 decay에는 어느 스텝에서든 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    if decay not in ("cosine", "linear"):
        raise ValueError(f"decay는 'cosine'이나 'linear'입니다: {decay!r}")
    # 1. 워밍업: 곧은 오르막
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    # 2. 마지막 스텝부터는 바닥
    if step >= total_steps - 1:
        return min_lr
    # 3. 감쇠: 내리막을 얼마나 왔는지(0~1)로 남은 높이를 구합니다
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - progress
    if decay == "cosine":
        height = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * height
    # END SOLUTION


# %% tags=["check"]
check(lr_at)

# %% [markdown]
r"""
## 5. 클리핑: 노름을 재고, 넘으면 줄입니다

그레이디언트를 모두 한 줄로 이어 붙인 벡터의 길이를 노름이라고 합니다. `max_norm`을 넘으면 전체에 같은 수를 곱해 길이를 맞춥니다. 방향은 그대로입니다.

널리 읽히는 글의 코드는 **워밍업이 끝난 다음부터** 자릅니다. 워밍업 동안에는 학습률이 낮으니 자르지 않아도 안전하다는 생각입니다.

**예측 8.** 워밍업 스무 스텝, 정점 0.01로 100스텝을 학습합니다. 노름이 1을 가장 자주 넘는 곳은 어디입니까?

- a: 워밍업 동안
- b: 워밍업 뒤
- c: 처음부터 끝까지 비슷합니다.

**예측 9.** 워밍업이 끝난 다음부터 자르는 것과 처음부터 자르는 것은 마지막 손실이 어떻게 다릅니까?

- a: 같습니다.
- b: 처음부터 자르는 쪽이 낮습니다.
- c: 워밍업 뒤에만 자르는 쪽이 낮습니다.
"""

# %% tags=["predict"]
guess_8 = None  # "a", "b", "c" 가운데 하나
guess_9 = None  # "a", "b", "c" 가운데 하나

# %%
rates = climb_then("상수", peak=0.01, warmup=20, total=100)
clipped_from = {start: [short_run(rates, seed, clip_from=start) for seed in range(4)] for start in (0, 20)}
over = {
    "워밍업 동안 (20스텝)": [sum(norm > 1 for norm in norms[:20]) / 20 for _, norms, _ in clipped_from[20]],
    "워밍업 뒤 (80스텝)": [sum(norm > 1 for norm in norms[20:]) / 80 for _, norms, _ in clipped_from[20]],
}
largest = [max(norms[:20]) for _, norms, _ in clipped_from[20]]
show_table(
    ["언제", "노름이 1을 넘은 스텝 (시드 넷)"],
    [[name, " · ".join(f"{share:.0%}" for share in shares)] for name, shares in over.items()],
)
print("워밍업 동안 가장 컸던 노름:", " · ".join(f"{norm:.0f}" for norm in largest))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for seed, (_, norms, _) in enumerate(clipped_from[20]):
    axes[0].plot(norms, color=COLORS["third"], linewidth=1.1, alpha=0.8)
axes[0].axvspan(0, 20, color=COLORS["grid"], alpha=0.7)
axes[0].axhline(1, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[0].set(title="노름은 워밍업 동안 솟습니다", xlabel="스텝 (어두운 곳이 워밍업)", yscale="log")
for start, color, style, label in [
    (20, COLORS["wrong"], "--", "워밍업 뒤부터 자름"),
    (0, COLORS["right"], "-", "처음부터 자름"),
]:
    for seed, (curve, _, _) in enumerate(clipped_from[start]):
        axes[1].plot(curve, style, color=color, linewidth=1.2, label=label if seed == 0 else None)
axes[1].set(title="그때 자르지 않으면 여파가 오래갑니다", xlabel="스텝", ylabel="배치 손실")
axes[1].legend(loc="upper right")
show(
    figure,
    "왼쪽: 자르기 전의 노름. 네 시드 모두 처음에 2쯤이고, 대개 워밍업이 끝나기 전에 10 넘게 솟았다가, 그 뒤로는 거의 1 아래에 있습니다. "
    "오른쪽: 처음부터 자른 곡선은 3 안팎까지 내려가고, 워밍업 뒤부터 자른 곡선은 대개 그보다 위에 머뭅니다.",
)
last = {start: [sum(curve[-10:]) / 10 for curve, _, _ in runs] for start, runs in clipped_from.items()}
show_table(
    ["클리핑", "마지막 열 배치의 손실 (시드 넷)", "중앙값"],
    [
        [name, " · ".join(f"{loss:.2f}" for loss in last[start]), median(last[start])]
        for start, name in [(20, "워밍업 뒤부터"), (0, "처음부터")]
    ],
)
assert median(over["워밍업 동안 (20스텝)"]) > 0.8
assert median(over["워밍업 뒤 (80스텝)"]) < 0.3
assert median(largest) > 5
summit = [norms.index(max(norms)) for _, norms, _ in clipped_from[20]]
assert 5 <= median(summit) < 20  # 학습률이 다 올라가기 전입니다
assert median(last[20]) - median(last[0]) > 0.15

rates = climb_then("상수", peak=0.003, warmup=20, total=100)
lower = {
    start: [sum(short_run(rates, seed, clip_from=start)[0][-10:]) / 10 for seed in range(2)]
    for start in (20, 0)
}
print(
    "정점이 0.003이면 (시드 둘):",
    {f"{start}스텝부터 자름": [f"{loss:.2f}" for loss in lower[start]] for start in lower},
)
assert all(abs(late - early) < 0.15 for late, early in zip(lower[20], lower[0], strict=True))
reveal(guess_8, "a", "처음의 노름은 2쯤이고, 학습률이 올라가는 동안 대개 훨씬 큰 봉우리가 솟습니다.")
reveal(
    guess_9, "b", "노름은 워밍업 동안 가장 크고 1도 자주 넘습니다. 그때 꺼 두면 정작 필요할 때를 놓칩니다."
)

# %% [markdown]
r"""
「워밍업이 있으니 워밍업 동안에는 자르지 않아도 된다」는 말은 여기서 맞지 않습니다. 학습률이 다 올라가기도 전에 노름이 가장 크고, **그 몇 스텝을 자르느냐가 마지막 손실까지 가릅니다.** 정점이 0.003으로 낮으면 두 방식의 차이는 거의 없습니다. 손해 볼 일이 없으니 `train_gpt`의 기본값은 처음부터 자르는 것입니다. 널리 읽히는 코드의 방식은 `clip_after_warmup=True`로 고릅니다.

클리핑의 또 다른 몫은 별난 배치입니다. 70번째 스텝의 배치 하나만 손실을 평균이 아니라 **합으로** 구했다고 하겠습니다. 토큰이 512개이므로 그레이디언트가 512배입니다. 02에서 본 모멘텀(momentum) SGD는 이럴 때 무너졌습니다. AdamW는 그레이디언트를 자기 크기로 나눕니다.

**예측 10.** AdamW로 학습하고, 자르지 않습니다. 별난 배치 다음에 어떻게 됩니까?

- a: 크기를 나누므로 아무 일도 없습니다.
- b: 그 방향으로 몇 배 길게, 여러 스텝 동안 갑니다. 그 뒤로는 오랫동안 걸음이 짧습니다.
- c: 512배 움직여 NaN이 됩니다.
"""

# %% tags=["predict"]
guess_10 = None  # "a", "b", "c" 가운데 하나


# %%
def rogue_run(make_opt, peak, *, rogue, clip_from):
    """별난 배치가 있는 130스텝입니다. (스텝마다 움직인 거리, 노름, 50스텝 뒤의 검증 손실)을 돌려줍니다."""
    model = make_gpt(0)
    opt = make_opt(model.parameters())
    place, moves, val_losses = [flat(model.parameters())], [], {}

    def watch(step):
        now = flat(model.parameters())
        moves.append((now - place[0]).norm().item())
        place[0] = now
        if step >= 50 and step % 4 == 1:
            with torch.no_grad():
                loss = token_loss(model, short_val).item()
            val_losses[step] = loss if math.isfinite(loss) else math.inf

    rates = climb_then("상수", peak=peak, warmup=30, total=130)
    stream = batch_stream(short_train, seed=0)
    _, norms = train_with(rates, model, opt, stream, rogue=rogue, clip_from=clip_from, after=watch)
    return moves, norms, val_losses


def momentum_sgd(params):
    return torch.optim.SGD(params, lr=1.0, momentum=0.9)


rogue_runs = {
    "AdamW, 별난 배치 없음": rogue_run(torch.optim.AdamW, 0.003, rogue=None, clip_from=math.inf),
    "AdamW, 자르지 않음": rogue_run(torch.optim.AdamW, 0.003, rogue=70, clip_from=math.inf),
    "AdamW, 자름": rogue_run(torch.optim.AdamW, 0.003, rogue=70, clip_from=0),
    "모멘텀 SGD, 자르지 않음": rogue_run(momentum_sgd, 0.3, rogue=70, clip_from=math.inf),
    "모멘텀 SGD, 자름": rogue_run(momentum_sgd, 0.3, rogue=70, clip_from=0),
}
rows, seen = [], {}
for name, (moves, norms, val_losses) in rogue_runs.items():
    usual = median(moves[50:70])
    seen[name] = ours = {
        "leap": moves[70] / usual,
        "later": median(moves[110:]) / usual,
        "before": val_losses[69],
        "worst": max(loss for step, loss in val_losses.items() if step >= 70),
        "end": val_losses[129],
    }
    steps = [f"{ours[key]:.1f}배" if ours[key] < 1000 else "발산" for key in ("leap", "later")]
    losses = [f"{ours[key]:.2f}" if ours[key] < 20 else "발산" for key in ("before", "worst", "end")]
    rows.append([name, f"{norms[70]:.0f}", *steps, *losses])
show_table(
    ["학습", "70번째 노름", "그 스텝의 걸음", "110번째부터의 걸음", "검증 손실: 직전", "가장 높을 때", "끝"],
    rows,
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for name, color, style in [
    ("AdamW, 별난 배치 없음", COLORS["muted"], ":"),
    ("AdamW, 자르지 않음", COLORS["wrong"], "--"),
    ("AdamW, 자름", COLORS["right"], "-"),
]:
    moves, _, val_losses = rogue_runs[name]
    axes[0].plot(range(50, 130), moves[50:], style, color=color, label=name.removeprefix("AdamW, "))
    axes[1].plot(val_losses.keys(), val_losses.values(), style, color=color)
axes[0].set(title="길게 갔다가, 오래 움츠러듭니다", xlabel="스텝", ylabel="움직인 거리", ylim=(0, None))
axes[1].set(title="봉우리 하나로 끝나지 않습니다", xlabel="스텝", ylabel="검증 손실")
axes[0].legend(loc="upper right")
show(
    figure,
    "왼쪽: 자르지 않으면 70번째 스텝에서 걸음이 세 배쯤으로 길어지고, 스무 스텝쯤 지나면 거꾸로 보통보다 짧아져 절반 아래까지 내려갑니다. "
    "자르면 별난 배치가 없을 때와 비슷합니다. 오른쪽: 자르지 않은 학습의 검증 손실은 3.3에서 4쯤으로 뛰었다가 천천히 내려옵니다.",
)
adam, safe = seen["AdamW, 자르지 않음"], seen["AdamW, 자름"]
# 별난 배치는 m에 0.1, v에 0.001의 비율로 섞입니다. 보정은 둘을 각각 1 - 0.9ᵗ, 1 - 0.999ᵗ로 나눕니다
bound = 0.1 / math.sqrt(0.001 / (1 - 0.999**71))
weight_count = sum(p.numel() for p in make_gpt(0).parameters())
typical = rogue_runs["AdamW, 자르지 않음"][0][70] / 0.003 / math.sqrt(weight_count)
print(f"별난 스텝에서 가중치 하나가 움직인 양(RMS): 학습률의 {typical:.2f}배, 한도 {bound:.2f}배")
assert 0.8 * bound < typical < 1.01 * bound
assert 2.5 < adam["leap"] < 4.5
assert adam["later"] < 0.6
assert adam["worst"] > adam["before"] + 0.5
assert adam["end"] > seen["AdamW, 별난 배치 없음"]["end"] + 0.15
assert safe["leap"] < 1.5
assert safe["end"] < safe["before"]
assert seen["모멘텀 SGD, 자르지 않음"]["worst"] > 20
assert seen["모멘텀 SGD, 자름"]["end"] < seen["모멘텀 SGD, 자름"]["before"]
reveal(guess_10, "b", "보폭에는 한도가 있지만, $m$은 열 스텝쯤, $v$는 천 스텝쯤 별난 배치를 기억합니다.")

# %% [markdown]
r"""
AdamW가 한 스텝에 갈 수 있는 거리에는 한도가 있습니다. 아무리 큰 그레이디언트도 $m$과 $v$에 함께 들어가 크기가 지워지기 때문입니다. 0부터 센 70번째 스텝, 곧 71번째 업데이트에서는 가중치 하나가 학습률의 0.8배쯤 움직입니다. 그래서 NaN이 되지는 않습니다. 대신 두 가지가 남습니다. $m$이 그 방향을 기억하는 동안 계속 그쪽으로 가고, $v$가 커진 동안 **보통 배치의 걸음이 짧아집니다.** 손실 곡선에 솟은 봉우리 하나로 끝나지 않습니다.

잘린 배치는 방향만 남기고 지나갑니다. 노름을 기록해 두면 별난 배치가 언제 왔는지도 압니다. `clip_grad_norm_`은 자르기 **전의** 노름을 돌려주므로 그 값을 적으면 됩니다.

노름이 무한대나 NaN이면 어떻게 됩니까? 줄이는 비율이 0이나 NaN이 되어 모든 그레이디언트로 번집니다. PyTorch는 따로 정하지 않으면 예외 없이 지나갑니다.
"""

# %%
spoiled = nn.Parameter(torch.zeros(3))
for bad in [math.inf, math.nan]:
    spoiled.grad = torch.tensor([1.0, bad, 2.0])
    clip_grad_norm_([spoiled], 1.0)
    print(f"{bad}가 하나 있던 그레이디언트를 자르면: {spoiled.grad.tolist()}")
    assert spoiled.grad.isnan().any()
spoiled.grad = torch.tensor([1.0, math.inf, 2.0])
try:
    clip_grad_norm_([spoiled], 1.0, error_if_nonfinite=True)
    stopped = False
except RuntimeError:
    stopped = True
print("error_if_nonfinite=True이면:", "멈춥니다" if stopped else "지나갑니다")
assert stopped

# %% [markdown]
r"""
### 연습 3. `clip_global_norm`

`clip_grad_norm_` 없이 직접 만듭니다. 노름이 유한하지 않으면 그레이디언트를 **건드리기 전에** 멈춥니다.
"""


# %% tags=["exercise:clip_global_norm"]
def clip_global_norm(params, max_norm) -> float:
    """모든 그레이디언트를 합친 L2 노름이 max_norm을 넘으면, 같은 수를 곱해 제자리에서 줄입니다.

    자르기 전의 노름을 float로 돌려줍니다. 넘지 않으면 그대로 둡니다. .grad가 None인 매개변수는 건너뜁니다.
    노름이 무한대나 NaN이면 그레이디언트를 건드리지 않고 RuntimeError를 냅니다.
    """
    # BEGIN SOLUTION
    # model.parameters()는 한 번밖에 돌 수 없으므로 모아 둡니다
    grads = [param.grad for param in params if param.grad is not None]
    # 1. 모두 한 벡터로 이어 붙였을 때의 노름
    total_norm = math.sqrt(sum(grad.square().sum().item() for grad in grads))
    # 2. 쓸 수 없는 값이면 여기서 멈춥니다. 곱하기 전이라 그레이디언트는 그대로입니다
    if not math.isfinite(total_norm):
        raise RuntimeError(f"그레이디언트의 노름이 유한하지 않습니다: {total_norm}")
    # 3. 넘을 때만, 모두 같은 비율로 줄입니다
    if total_norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / total_norm)
    return total_norm
    # END SOLUTION


# %% tags=["check"]
check(clip_global_norm)

# %% [markdown]
r"""
## 6. 장치를 모두 달고 학습합니다

이제 조금 더 큰 모델을 처음부터 끝까지 학습합니다. 기록할 것은 세 가지입니다.

- **본 토큰의 수.** 배치 크기가 다르면 스텝 수로는 견줄 수 없습니다. 토큰 수로는 견줄 수 있습니다.
- **학습 손실과 검증 손실.** 몇 스텝마다 평가 모드(evaluation mode)에서 잽니다. 배치 손실은 드롭아웃(dropout)이 켜진 채로 잰 것이라 검증 손실과 나란히 놓을 수 없습니다.
- **에폭이 끝날 때마다 모델이 쓴 글.** 두 손실이 같아도 글은 다를 수 있습니다.

**예측 11.** 학습 데이터는 1만 5천 글자쯤입니다. 학습을 계속하면 검증 손실은 어떻게 됩니까?

- a: 끝까지 내려갑니다.
- b: 내려가다가 중간에 다시 올라갑니다.
- c: 처음부터 올라갑니다.
"""

# %% tags=["predict"]
guess_11 = None  # "a", "b", "c" 가운데 하나

# %%
# GPU가 있으면 더 큰 모델을 더 오래 학습합니다. CPU에서는 1분을 넘지 않게 줄입니다
SIZES = {"width": 96, "depth": 2} if on_cpu else {"width": 128, "depth": 4}
EPOCHS = 14 if on_cpu else 30
long_train, long_val = windows(train_tokens, 64), windows(val_tokens, 64)
model = make_gpt(0, context=64, dropout=0.1, **SIZES)
steps_per_epoch = math.ceil(len(long_train) / 16)
total = steps_per_epoch * EPOCHS
warmup = round(0.05 * total)
parameter_count = sum(p.numel() for p in model.parameters())
print(
    f"{'CPU' if on_cpu else 'GPU'}: 매개변수 {parameter_count:,}개, {EPOCHS}에폭, {total}스텝, 워밍업 {warmup}스텝"
)
assert parameter_count < 1_000_000

record = {"step": [], "train": [], "val": []}
diary = [("학습 전", write(model, "국회는 "))]


@torch.no_grad()
def evaluation(parts):
    model.eval()
    loss = token_loss(model, parts[:100]).item()
    model.train()
    return loss


def watch(step):
    if step % 20 == 0:
        record["step"].append(step)
        record["train"].append(evaluation(long_train))
        record["val"].append(evaluation(long_val))
    if (step + 1) % steps_per_epoch == 0:
        diary.append((f"{(step + 1) // steps_per_epoch}에폭", write(model, "국회는 ")))


main_rates = climb_then("코사인", peak=0.003, warmup=warmup, total=total)
opt = torch.optim.AdamW(model.parameters())
_, main_norms = train_with(main_rates, model, opt, batch_stream(long_train, 0), after=watch)

for name, sample in [diary[0], diary[1], diary[2], diary[4], diary[-1]]:
    print(f"{name:>5}: {sample!r}")

# %%
# 에폭의 마지막 배치는 짧습니다. 지나간 에폭은 조각의 수로 세고, 이번 에폭은 배치의 수로 셉니다
epochs_and_steps = [divmod(step + 1, steps_per_epoch) for step in record["step"]]
seen_tokens = [64 * (done * len(long_train) + steps * 16) for done, steps in epochs_and_steps]
turn = record["val"].index(min(record["val"]))
figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.7))
thousands = [count / 1000 for count in seen_tokens]
axes[0].plot(thousands, record["train"], "--", color=COLORS["third"], label="학습 손실")
axes[0].plot(thousands, record["val"], color=COLORS["right"], label="검증 손실")
axes[0].plot(thousands[turn], record["val"][turn], "o", color=COLORS["wrong"], label="가장 낮은 검증 손실")
axes[0].set(title="1만 5천 글자는 금방 외웁니다", xlabel="본 토큰 (천 개)", ylabel="손실")
axes[0].legend()
axes[1].plot(main_norms, color=COLORS["third"], linewidth=0.9)
axes[1].axvspan(0, warmup, color=COLORS["grid"], alpha=0.7)
axes[1].axhline(1, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[1].set(title="노름은 워밍업 안팎에서 가장 큽니다", xlabel="스텝 (어두운 곳이 워밍업)", yscale="log")
show(
    figure,
    "왼쪽: 학습 손실은 끝까지 내려가고, 검증 손실은 3쯤에서 바닥을 찍고 다시 올라갑니다. "
    "오른쪽: 자르기 전의 노름. 워밍업 안팎에서 가장 크고, 그 뒤 1 가까이로 내려갑니다. CPU에서는 끝으로 갈수록 천천히 다시 올라갑니다.",
)
print(
    f"가장 낮은 검증 손실 {record['val'][turn]:.2f} (스텝 {record['step'][turn]}), 끝 {record['val'][-1]:.2f}"
)
print(f"학습 손실은 그사이 {record['train'][turn]:.2f}에서 {record['train'][-1]:.2f}로")
quarter = total // 4
print(
    f"노름의 중앙값: 학습의 둘째 4분의 1에서 {median(main_norms[quarter : 2 * quarter]):.2f}, 마지막 4분의 1에서 {median(main_norms[-quarter:]):.2f}"
)


def longest_copy(sample):
    """sample의 조각 가운데 학습 데이터에 그대로 있는 가장 긴 것의 길이입니다."""
    learned = text[:border]
    return max(
        size
        for size in range(len(sample))
        for at in range(len(sample) - size)
        if sample[at : at + size] in learned
    )


copied = [longest_copy(sample) for _, sample in diary]
print("학습 데이터에서 그대로 옮긴 가장 긴 조각:", {diary[at][0]: f"{copied[at]}글자" for at in (0, 2, -1)})
clean = evaluation(long_train)
with torch.no_grad():
    noisy = token_loss(model.train(), long_train[:100]).item()
print(f"같은 모델의 학습 손실: 평가 모드 {clean:.2f}, 학습 모드(train mode) {noisy:.2f}")
assert record["train"][0] > 5
assert record["train"][-1] < 2
assert record["step"][turn] < 0.85 * total
assert record["val"][-1] > record["val"][turn] + 0.05
assert record["train"][-1] < record["train"][turn] - 0.2
assert max(main_norms[: 3 * warmup]) == max(main_norms)
assert copied[-1] > copied[0]
assert noisy > 1.03 * clean
if on_cpu:
    assert median(main_norms[-quarter:]) > median(main_norms[quarter : 2 * quarter])
    assert sum(norm > 1 for norm in main_norms[-quarter:]) > 0.8 * quarter
else:  # 더 큰 모델은 서른 에폭이면 조문을 통째로 외웁니다
    assert copied[-1] > 20
reveal(
    guess_11,
    "b",
    "학습 손실은 계속 내려가는데 검증 손실은 돌아섰습니다. 그때부터는 배운다기보다 외웁니다.",
)

# %% [markdown]
r"""
글을 읽어 보세요. 학습 전에는 아무 글자나 나옵니다. 한두 에폭이면 띄어쓰기와 조사가 생기고, 네 에폭쯤이면 조문의 말투가 됩니다. 그 뒤로도 글은 그럴듯해 보이는데 검증 손실은 나빠집니다. **그럴듯함은 외운 조각에서도 옵니다.** 사람이 읽고 고르면 과적합한 모델을 고르기 쉽습니다. 그래서 글과 함께 두 손실을 기록합니다.

노름도 볼 만합니다. 가장 높은 곳은 워밍업 안팎입니다. CPU용 크기로 학습하면 그 뒤에 다시 조금씩 커져서, 끝 무렵에는 스텝 대부분이 1을 넘어 잘립니다. 이렇게 늘 걸리면 「별난 배치만 줄인다」는 클리핑의 뜻은 사라집니다. 그래서 `max_norm`은 노름을 그려 보고 정합니다.

평가에는 함정이 하나 더 있습니다. `train_loader`는 에폭마다 순서를 **섞습니다.** 학습 손실을 재려고 거기에서 앞 몇 배치를 꺼냅니다.

**예측 12.** 평가를 더 자주 하면, 학습에 쓰는 배치의 순서가 바뀝니까?

- a: 아니요. 평가는 읽기만 합니다.
- b: 예. 다음 에폭부터 바뀝니다.
- c: 예. 그 에폭 안에서 바로 바뀝니다.
"""

# %% tags=["predict"]
guess_12 = None  # "a", "b", "c" 가운데 하나


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


rare, often = order_of_training(10), order_of_training(3)
same = [ours == theirs for ours, theirs in zip(rare, often, strict=True)]
print(
    "평가 주기를 바꾸어도 순서가 같습니까?",
    {f"{epoch + 1}에폭": "예" if answer else "아니요" for epoch, answer in enumerate(same)},
)
assert same == [True, False]
reveal(guess_12, "b", "로더를 돌기 시작할 때마다 제너레이터에서 새 순서를 뽑습니다. 평가할 때도 뽑습니다.")

# %% [markdown]
r"""
평가 주기만 바꾼 두 학습이 다른 결과를 내면 이것부터 의심하세요. 두 학습을 견주려면 평가에 쓸 배치를 따로 들고 있거나, 섞지 않는 로더를 하나 더 만듭니다.

### 연습 4. `train_gpt`

지금까지의 장치를 루프 하나에 모읍니다. 쓰기 전에 순서를 소리 내어 읽어 보세요.

1. 시작할 때 **그룹마다 정점을 적어 둡니다.** 학습이 시작되면 `group["lr"]`은 정점이 아닙니다.
2. 스텝마다 학습률을 먼저 정하고, 그레이디언트를 지우고, 순전파(forward pass)하고, 역전파(backward pass)하고, 자르고, 업데이트합니다.
3. 정한 스텝마다 평가 모드로 두 손실을 재고, 본 토큰의 수를 적고, 학습 모드로 돌아옵니다.
4. 에폭이 끝나면 `on_epoch_end(model)`을 부릅니다. 이 함수가 글을 뽑느라 모델을 평가 모드로 바꾸어 놓았을 수 있습니다.

두 로더의 정답은 이미 한 칸 밀려 있습니다. 한 번 더 밀지 않습니다.
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
    학습률: s번째 업데이트(0부터) 앞에서 그룹마다 lr_at(s, ...)으로 정합니다. 정점은 함수를 부를 때 그룹에 적혀 있던 학습률입니다.
    클리핑: 스텝마다 max_norm으로 자릅니다. clip_after_warmup이면 s == warmup_steps부터 자릅니다.
    평가: s가 eval_freq의 배수인 업데이트 뒤마다, 두 로더에서 앞의 eval_iter 배치씩 평가 모드로 잰 손실의 평균입니다.
    에폭이 끝날 때마다 on_epoch_end(model)을 부릅니다. on_epoch_end이 모드를 바꿔 놓아도 다음 에폭은 학습 모드로 돌고, 학습 모드로 끝납니다.

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
## 7. 길이가 다른 글을 누적합니다

01에서 크기가 다른 마이크로 배치(micro-batch)를 샘플 수로 가중하면 큰 배치와 같아진다고 했습니다. 언어 모델에서는 샘플 수가 아니라 **토큰 수**입니다. 조문의 길이는 제각각이고, 한 배치에 담으려면 짧은 것의 뒤를 패딩(padding)으로 채워야 합니다. 패딩의 정답은 `ignore_index`(-100)로 두어 손실에서 뺍니다.

2024년 가을까지 여러 큰 라이브러리가 마이크로 배치마다 평균을 내고, 그 평균을 다시 평균했습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)). 헌법의 항으로 그 오류를 재현합니다. 마이크로 배치 하나에 항이 둘, 구간 하나에 마이크로 배치가 넷입니다.

**예측 13.** 평균의 평균으로 누적한 그레이디언트는, 여덟 항을 한 배치에 담은 그레이디언트와 얼마나 다릅니까?

- a: 반올림 오차만큼
- b: 1%쯤
- c: 10%쯤이나 그보다 많이
"""

# %% tags=["predict"]
guess_13 = None  # "a", "b", "c" 가운데 하나

# %%
clauses = [line for line in text[:border].split("\n") if len(line) > 5]


def padded(lines):
    """항 여러 개를 한 배치로 만듭니다. 패딩의 정답은 -100입니다."""
    rows = [tokens.new_tensor([number_of[character] for character in line[:120] + "\n"]) for line in lines]
    longest = max(len(row) for row in rows)
    x = tokens.new_zeros(len(rows), longest - 1)
    y = torch.full_like(x, -100)
    for at, row in enumerate(rows):
        x[at, : len(row) - 1], y[at, : len(row) - 1] = row[:-1], row[1:]
    return x.to(device), y.to(device)


def shared_gradient(model, micro_batches, shares):
    """마이크로 배치마다 평균 손실에 shares의 몫을 곱해 누적합니다. (그레이디언트, 더한 손실)을 돌려줍니다."""
    model.zero_grad()
    total_loss = 0.0
    for (x, y), share in zip(micro_batches, shares, strict=True):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) * share
        loss.backward()
        total_loss += loss.item()
    return flat(p.grad for p in model.parameters()), total_loss


model = make_gpt(0, context=120).double()
errors, mended = [], []
generator = torch.Generator().manual_seed(0)
for _ in range(12):
    chosen = [clauses[at] for at in torch.randperm(len(clauses), generator=generator)[:8].tolist()]
    window = [padded(chosen[at : at + 2]) for at in range(0, 8, 2)]
    counts = [(y != -100).sum().item() for _, y in window]
    big, _ = shared_gradient(model, [padded(chosen)], [1.0])
    averaged, _ = shared_gradient(model, window, [1 / 4] * 4)
    weighted, _ = shared_gradient(model, window, [count / sum(counts) for count in counts])
    errors.append(((averaged - big).norm() / big.norm()).item())
    mended.append(((weighted - big).norm() / big.norm()).item())
print(f"평균의 평균: 상대 오차 중앙값 {median(errors):.0%} ({min(errors):.0%}~{max(errors):.0%})")
print(f"토큰 수로 가중: 가장 큰 오차 {max(mended):.0e}")
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
assert median(errors) > 0.05
assert max(mended) < 1e-12
reveal(
    guess_13,
    "c",
    "짧은 마이크로 배치의 토큰일수록 몫이 커집니다. 항의 수를 똑같이 맞추어도 차이는 남습니다.",
)

# %% [markdown]
r"""
틀린 것은 나누는 수입니다. 토큰 하나의 몫은 언제나 $1/(\text{구간 전체의 유효한 토큰 수})$여야 합니다. 마이크로 배치 안에서 평균을 내면 짧은 글의 토큰이 더 큰 목소리를 냅니다.

학습 결과는 얼마나 달라집니까? 두 방법으로 같은 구간 120개를 학습하고, **토큰 하나하나를 똑같이 센** 손실을 잽니다.

**예측 14.** 짧은 항과 긴 항으로 나누어 재면 어떻게 됩니까?

- a: 평균의 평균은 짧은 항에 더 맞추고, 긴 항에는 덜 맞춥니다.
- b: 둘 다 똑같이 나빠집니다.
- c: 그레이디언트가 그만큼 틀렸으니 아예 배우지 못합니다.
"""

# %% tags=["predict"]
guess_14 = None  # "a", "b", "c" 가운데 하나


# %%
def clause_run(by_tokens, seed):
    """항을 여덟 개씩 누적해 120번 업데이트하고 (짧은 항의 손실, 긴 항의 손실, 학습하며 적은 손실)을 돌려줍니다."""
    reported = []
    model = make_gpt(seed, context=120)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(120):
        chosen = [clauses[at] for at in torch.randperm(len(clauses), generator=generator)[:8].tolist()]
        chosen.sort(key=len)  # 길이가 비슷한 것끼리 묶어 패딩을 줄입니다
        window = [padded(chosen[at : at + 2]) for at in range(0, 8, 2)]
        counts = [(y != -100).sum().item() for _, y in window]
        shares = [count / sum(counts) if by_tokens else 1 / 4 for count in counts]
        reported.append(shared_gradient(model, window, shares)[1])
        opt.step()
    ordered = sorted(clauses, key=len)
    with torch.no_grad():
        short, long = (
            F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
            for x, y in (padded(ordered[:60]), padded(ordered[-60:]))
        )
    return short, long, sum(reported[-30:]) / 30


clause_losses = {by_tokens: [clause_run(by_tokens, seed) for seed in range(2)] for by_tokens in (True, False)}
show_table(
    ["나누는 수", "짧은 항 60개의 손실 (시드 둘)", "긴 항 60개의 손실", "학습하며 적은 손실"],
    [
        [name, *(" · ".join(f"{run[part]:.3f}" for run in clause_losses[by_tokens]) for part in range(3))]
        for by_tokens, name in [(True, "구간의 유효한 토큰"), (False, "마이크로 배치마다 평균")]
    ],
)
fair, biased = clause_losses[True], clause_losses[False]
for seed in range(2):
    assert biased[seed][0] < fair[seed][0] - 0.03
    assert biased[seed][1] - biased[seed][0] > fair[seed][1] - fair[seed][0] + 0.1
    assert max(biased[seed]) < 4  # 배우기는 배웁니다
assert sum(run[1] for run in biased) > sum(run[1] for run in fair)
assert sum(run[2] for run in biased) < sum(run[2] for run in fair) - 0.05
reveal(
    guess_14, "a", "오류도 나지 않고 손실도 내려갑니다. 다만 짧은 글을 더 중요하게 여기는 다른 문제를 풉니다."
)

# %% [markdown]
r"""
틀린 누적도 잘 배웁니다. **다른 문제를** 잘 배웁니다. 게다가 그 방식으로 적은 학습 손실은 오히려 조금 더 낮습니다. 짧은 항에 잘 맞추고, 짧은 항을 크게 세기 때문입니다. 손실 곡선을 견주면 틀린 쪽을 고르게 됩니다.

한 가지가 더 있습니다. 패딩뿐인 마이크로 배치가 섞이면 평균은 0 나누기 0입니다.
"""

# %%
logits = torch.randn(2, 5, len(alphabet), requires_grad=True)
nothing = torch.full((2, 5), -100)
mean_loss = F.cross_entropy(logits.flatten(0, 1), nothing.flatten())
sum_loss = F.cross_entropy(logits.flatten(0, 1), nothing.flatten(), reduction="sum")
print(f"유효한 토큰이 없는 마이크로 배치: 평균 {mean_loss.item()}, 합 {sum_loss.item()}")
assert math.isnan(mean_loss.item())
assert sum_loss.item() == 0.0

# %% [markdown]
r"""
### 연습 5. `token_mean_accumulate`

구간 하나를 받아 한 번 업데이트합니다. 나누는 수를 알려면 역전파하기 전에 구간을 끝까지 보아야 합니다. `micro_batches`는 제너레이터일 수 있고, `ignore_index`는 -100이 아닐 수 있습니다.
"""


# %% tags=["exercise:token_mean_accumulate"]
def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    """유효한 토큰의 수가 서로 다른 마이크로 배치를 모아 한 번 업데이트하고, 업데이트하기 전의 평균 손실을 float로 돌려줍니다.

    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. 정답이 ignore_index인 위치는 세지 않습니다.
    model(x): (배치, 시간, 어휘) 로짓입니다.

    업데이트도 반환값도 구간의 모든 유효한 토큰을 한 배치에 담았을 때와 같아야 합니다. 유효한 토큰이 하나도 없으면 업데이트하지 않고 ValueError를 냅니다.
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
## 8. 버그 찾기

널리 읽히는 글과 코드에 되풀이해 나오는 오류 네 개입니다. 코드는 모두 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

### 루프 1

워밍업이 끝나면 자르려고 한 루프입니다. 워밍업이 30스텝이고, 30번째 스텝(0부터)에 별난 배치가 옵니다. 어떻게 됩니까?

- a: 잘립니다. 워밍업은 29번째 스텝에서 끝났습니다.
- b: 잘리지 않습니다. 하필 학습률이 정점인 첫 스텝입니다.
- c: 잘리지 않지만 학습률이 아직 낮아 괜찮습니다.
"""


# %% tags=["find-the-bug"]
def loop_1(model, opt, stream, rates, warmup_steps, rogue):
    for step, (rate, part) in enumerate(zip(rates, stream, strict=False)):
        opt.param_groups[0]["lr"] = rate
        opt.zero_grad()
        loss = token_loss(model, part)
        (loss * 512 if step == rogue else loss).backward()
        if step > warmup_steps:
            clip_grad_norm_(model.parameters(), max_norm=1.0)
        opt.step()


# %% tags=["predict"]
bug_1 = None  # "a", "b", "c" 가운데 하나

# %%
rates = climb_then("상수", peak=0.3, warmup=30, total=60)
ends = {}
for name, rogue in [("별난 배치 없음", None), ("29번째", 29), ("30번째", 30), ("31번째", 31)]:
    model = make_gpt(0)
    loop_1(model, momentum_sgd(model.parameters()), batch_stream(short_train, 0), rates, 30, rogue)
    with torch.no_grad():
        loss = token_loss(model, short_val).item()
    ends[name] = loss if math.isfinite(loss) else math.inf
show_table(
    ["별난 배치가 온 스텝 (0부터)", "60스텝 뒤의 검증 손실"],
    [[name, f"{loss:.2f}" if loss < 20 else "발산"] for name, loss in ends.items()],
)
print(f"30번째 스텝의 학습률: {rates[30]} (정점 0.3)")
assert rates[30] == 0.3
assert ends["30번째"] > 20
assert ends["29번째"] > ends["별난 배치 없음"] + 0.3
assert ends["31번째"] < ends["별난 배치 없음"] + 0.3
reveal(bug_1, "b", "`>`는 `step == warmup_steps`를 빠뜨립니다. 학습률이 처음으로 정점에 이른 스텝입니다.")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

스텝은 0부터 셉니다. 0번부터 29번까지 서른 스텝이 워밍업이고, 30번째가 정점입니다. 그 한 스텝만 잘리지 않고 빠져나갑니다. 평소에는 손실 곡선에 아무 흔적도 없습니다. 책에도 실렸다가 고쳐진 오류입니다([LLMs-from-scratch#427](https://github.com/rasbt/LLMs-from-scratch/pull/427)). `>=`로 고칩니다.

29번째에 온 별난 배치는 `>=`로 고쳐도 잘리지 않습니다. 워밍업 동안에는 자르지 않기로 한 루프이기 때문입니다. 5절에서 보았듯이 처음부터 자르는 것이 낫습니다.

</details>

### 루프 2

코사인 감쇠를 쓴 함수입니다. 정점 1.0, 바닥 0.01, 전체 10스텝, 워밍업 4스텝입니다. 마지막 업데이트의 학습률은 얼마입니까?

- a: 0.01
- b: 0.01의 일곱 배쯤
- c: 0
"""


# %% tags=["find-the-bug"]
def loop_2_rate(step, warmup_steps, total_steps, peak_lr, min_lr):
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


# %% tags=["predict"]
bug_2 = None  # "a", "b", "c" 가운데 하나

# %%
rows = []
for total_steps in [10, 100, 1000]:
    warmup_steps = round(0.4 * total_steps)
    ending = loop_2_rate(total_steps - 1, warmup_steps, total_steps, 1.0, 0.01)
    rows.append([total_steps, f"{ending:.5f}", f"{ending / 0.01:.2f}배"])
show_table(["전체 스텝", "마지막 업데이트의 학습률", "바닥 0.01의 몇 배"], rows)
assert 0.07 < loop_2_rate(9, 4, 10, 1.0, 0.01) < 0.08
assert 0.01 < loop_2_rate(999, 400, 1000, 1.0, 0.01) < 0.0101
assert loop_2_rate(10, 4, 10, 1.0, 0.01) == 0.01  # 바닥은 학습이 끝난 다음 스텝에 있습니다
reveal(
    bug_2,
    "b",
    "바닥은 `step == total_steps`에 있는데, 그런 스텝은 없습니다. 마지막은 `total_steps - 1`입니다.",
)

# %% [markdown]
r"""
<details>
<summary>설명</summary>

내리막의 칸 수는 `total_steps - warmup_steps`보다 하나 적습니다. 울타리 기둥이 열 개면 사이는 아홉 칸입니다. 1,000스텝이면 차이가 1%도 되지 않아 무시해도 됩니다. 열 스텝이면 일곱 배가 넘습니다. 널리 읽히는 글의 코드는 한 스텝에 오르는 양을 미리 나눗셈으로 구해 두어서, 워밍업이 0이면 0으로 나누는 오류도 납니다.

어느 쪽으로 정해도 되지만 **문서에 적은 것과 같아야** 합니다. `lr_at`은 마지막 업데이트가 `min_lr`을 쓰기로 정했습니다.

</details>

### 루프 3

세 에폭을 학습합니다. 셋째 에폭에서 가장 높은 학습률은, 바르게 짠 루프의 셋째 에폭과 비교해 어떻습니까?

- a: 같습니다.
- b: 훨씬 낮습니다.
- c: 훨씬 높습니다.
"""


# %% tags=["find-the-bug"]
def loop_3(opt, steps_per_epoch, n_epochs, min_lr):
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
bug_3 = None  # "a", "b", "c" 가운데 하나

# %%
found = loop_3(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.003), 40, 3, 1e-6)
planned = climb_then("코사인", peak=0.003, warmup=0, total=120)
figure, axis = plt.subplots(figsize=(7.2, 3.2))
axis.plot(planned, color=COLORS["right"], label="정점을 처음에 한 번 읽음")
axis.plot(found, "--", color=COLORS["wrong"], label="루프 3")
axis.set(title="에폭이 바뀔 때마다 정점이 낮아집니다", xlabel="스텝", ylabel="학습률")
axis.legend()
show(
    figure,
    "바른 학습률은 코사인을 따라 매끄럽게 내려옵니다. 루프 3의 학습률은 첫 에폭에서 겹치다가, "
    "둘째와 셋째 에폭이 시작할 때 계단처럼 떨어져 훨씬 낮은 곳을 지납니다.",
)
ratios = [max(found[at : at + 40]) / max(planned[at : at + 40]) for at in (0, 40, 80)]
print("에폭마다 가장 높은 학습률의 비:", " · ".join(f"{ratio:.2f}" for ratio in ratios))
assert ratios[0] == 1.0
assert ratios[2] < 0.3
assert torch.optim.AdamW([nn.Parameter(torch.zeros(1))]).param_groups[0]["lr"] == 1e-3
reveal(bug_3, "b", "지난 에폭이 끝날 때의 학습률을 정점으로 읽었습니다. 이미 내려온 값입니다.")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`group["lr"]`은 두 가지 뜻으로 쓰입니다. 학습이 시작되기 전에는 사람이 정한 정점이고, 시작된 다음에는 지금의 학습률입니다. 정점은 루프에 들어가기 전에 따로 적어 둡니다.

같은 일이 함수 밖에서도 일어납니다. 정점을 옵티마이저(optimizer)에서 읽는 학습 함수를 **같은 옵티마이저로 두 번** 부르면, 두 번째의 정점은 첫 번째가 남긴 `min_lr`입니다. 다시 부르기 전에 `group["lr"]`을 되돌려 놓습니다. 옵티마이저를 만들 때 `lr=`을 빠뜨려도 오류가 나지 않습니다. AdamW의 기본값 0.001이 정점이 됩니다.

</details>

### 루프 4

임베딩은 0.0003으로 조심스럽게, 나머지는 0.003으로 학습하려고 그룹을 나누었습니다. 다섯 스텝 뒤에 임베딩의 학습률은 얼마입니까?

- a: 0.0003에 배율을 곱한 값
- b: 나머지와 같은 값
- c: 0.0003 그대로
"""


# %% tags=["find-the-bug"]
def loop_4(opt, rate_at, n_steps):
    peak_lr = opt.param_groups[0]["lr"]
    for step in range(n_steps):
        lr = rate_at(step, peak_lr)
        for group in opt.param_groups:
            group["lr"] = lr
        opt.step()


# %% tags=["predict"]
bug_4 = None  # "a", "b", "c" 가운데 하나

# %%
model = make_gpt(0)
gentle = [model.character.weight, model.position.weight]
rest = [p for p in model.parameters() if not any(p is other for other in gentle)]
opt = torch.optim.AdamW([{"params": rest, "lr": 0.003}, {"params": gentle, "lr": 0.0003}])
loop_4(opt, lambda step, peak_lr: peak_lr * (step + 1) / 10, 5)
now = {name: group["lr"] for name, group in zip(["나머지", "임베딩"], opt.param_groups, strict=True)}
print("다섯 스텝 뒤의 학습률:", now)
assert now["임베딩"] == now["나머지"] == 0.0015
reveal(bug_4, "b", "첫 그룹의 정점으로 만든 학습률을 모든 그룹에 썼습니다. 0.00015여야 할 것이 열 배입니다.")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

그룹이 하나일 때는 드러나지 않습니다. 계층(layer)마다 학습률을 다르게 하거나 미세 조정에서 출력 계층만 빨리 배우게 할 때 조용히 깨집니다. 정점을 **그룹마다** 적어 두고, 그룹마다 자기 정점으로 계산합니다. `LambdaLR` 같은 스케줄러(scheduler)는 그룹마다 적어 둔 `initial_lr`에 배율을 곱하므로 이 문제가 없습니다.

</details>

## 9. 화이트보드

위를 보지 말고 한 스텝을 씁니다. 학습률을 그룹마다 정하고, 다섯 줄을 쓰고, 자릅니다. `peaks`는 그룹마다의 정점이고, `rate_at(step, peak)`이 학습률을 줍니다. 다 쓴 다음 아래 셀을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""


# %% tags=["whiteboard"]
def step_from_memory(model, opt, peaks, rate_at, step, xb, yb, max_norm): ...


# %%
def ramp(step, peak):
    return peak * (step + 1) / 4


def whiteboard_model():
    torch.manual_seed(9)
    return nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11)).double()


def steps_by_hand(batches, peaks, max_norm):
    """옵티마이저 없이 직접 계산한 네 스텝입니다. 첫 텐서가 한 그룹, 나머지가 또 한 그룹입니다."""
    model = whiteboard_model()
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    clipped = 0
    for step, (xb, yb) in enumerate(batches):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        logits = torch.func.functional_call(model, leaves, (xb,))
        loss = F.cross_entropy(logits.flatten(0, 1), yb.flatten())
        grads = torch.autograd.grad(loss, list(leaves.values()))
        norm = flat(grads).norm().item()
        clipped += norm > max_norm
        shrink = min(1.0, max_norm / (norm + 1e-6))
        speeds = [ramp(step, peaks[0])] + [ramp(step, peaks[1])] * (len(grads) - 1)
        weights = {
            name: w - speed * shrink * g
            for (name, w), g, speed in zip(weights.items(), grads, speeds, strict=True)
        }
    return flat(weights.values()), clipped


def grade_step(attempt):
    """네 스텝 뒤의 가중치를 손 계산과 비교합니다. 잘리는 스텝과 잘리지 않는 스텝이 섞여 있습니다."""
    generator = torch.Generator().manual_seed(9)
    batches = [torch.randint(11, (2, 3, 5), generator=generator).unbind(0) for _ in range(4)]
    model, peaks = whiteboard_model(), [0.5, 5.0]
    expected, clipped = steps_by_hand(batches, peaks, max_norm=0.9)
    assert 0 < clipped < 4
    start = flat(model.parameters())
    groups = [{"params": model[0].parameters(), "lr": 0.5}, {"params": model[1].parameters(), "lr": 5.0}]
    opt = torch.optim.SGD(groups)
    for step, (xb, yb) in enumerate(batches):
        attempt(model, opt, peaks, ramp, step, xb, yb, 0.9)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, 업데이트하기 전에 그레이디언트를 지운 것입니다."
    if (result - expected).abs().max() < 1e-9:
        return "모든 줄이 제자리에 있습니다. 네 스텝 뒤의 가중치가 손 계산과 같습니다."
    return "움직이기는 했지만 손 계산과 다릅니다. 학습률은 언제 정하고, 자르는 줄은 어느 두 줄 사이입니까?"


print(grade_step(step_from_memory))
assert "움직이지 않았습니다" in grade_step(lambda *args: None)

# %% [markdown]
r"""
## 정리

| 장치 | 하는 일 | 여기에서 재어 보니 |
|---|---|---|
| 워밍업 | Adam의 길고 쏠린 첫 업데이트를 낮은 학습률로 지나갑니다 | 정점이 높을 때만 이득이고, 낮으면 손해입니다 |
| 감쇠 | 끝으로 갈수록 걸음을 줄입니다 | 정점이 높을 때 이득이고, 코사인과 직선은 거의 같습니다 |
| 클리핑 | 그레이디언트의 노름이 `max_norm`을 넘지 않게 합니다 | 노름은 워밍업 안팎에서 가장 큽니다. 처음부터 켭니다 |
| 평가와 기록 | 외우기 시작하는 곳을 알려 줍니다 | 글은 그럴듯해지는데 검증 손실은 돌아섭니다 |
| 토큰을 세는 누적 | 모든 토큰의 몫을 같게 합니다 | 평균의 평균은 짧은 글을 편듭니다 |

다섯 가지만 기억하세요.

1. 첫 손실은 $\ln(\text{글자 수})$여야 합니다. 아니면 시작하지 않습니다.
2. Adam의 첫 업데이트는 부호뿐입니다. 그레이디언트의 크기를 보지 않습니다.
3. 별난 배치는 AdamW를 NaN으로 만들지 않습니다. 대신 오래 기억됩니다.
4. 정점은 학습이 시작되기 전에 그룹마다 한 번 읽습니다.
5. 나누는 수는 구간 전체의 유효한 토큰 수 하나입니다.

## 더 읽을거리

- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): 매개변수 그룹과 스케줄러
- [clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html): 돌려주는 값과 `error_if_nonfinite`
- [On the Variance of the Adaptive Learning Rate and Beyond](https://arxiv.org/abs/1908.03265): 워밍업이 필요한 까닭을, Adam이 처음에 정하는 걸음의 분산으로 설명한 논문
- [SGDR](https://arxiv.org/abs/1608.03983): 코사인 어닐링(cosine annealing)이 처음 나온 논문
- [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063): 노름으로 자르기를 제안한 논문
- [transformers#34191](https://github.com/huggingface/transformers/pull/34191): 7절의 오류를 고친 변경

## 다음 노트북

**04 SAM과 그레이디언트 누적.** 평탄한 최솟값(flat minimum)을 찾아 한 스텝에 두 번 역전파하는 SAM을 만들고, 거기에 누적을 더합니다. 이번에 본 헌법으로 질문에 답하는 모델을 학습합니다.
"""
