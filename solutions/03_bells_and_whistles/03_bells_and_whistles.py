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

언어 모델의 학습(training) 루프에는 다섯 줄 말고도 늘 따라다니는 것이 있습니다. 처음에 학습률(learning rate)을 천천히 올리고, 끝으로 갈수록 내리고, 너무 큰 그레이디언트(gradient)를 줄입니다. 대개는 남의 코드에서 값까지 그대로 옮겨 옵니다.

여기서는 하나씩 떼어 보고 다시 달아 봅니다. 대상은 대한민국헌법을 한 글자씩 배우는 작은 GPT입니다. 아무 글자나 내놓던 모델이 조문 비슷한 글을 쓰게 될 때까지, 장치 하나하나가 무엇을 바꾸는지 잽니다.

| 장치 | 재는 것 | 절 |
|---|---|---|
| 스텝 수 계획 | 스텝을 잘못 세면 학습률이 어디에서 끝나는지 | 2 |
| 워밍업(warmup) | Adam의 첫 업데이트는 어떤 모습인지, 워밍업은 언제 왜 효과가 있는지 | 3 |
| 코사인 감쇠(cosine decay), 선형 감쇠, WSD | 서로의 차이, 없을 때와의 차이 | 4 |
| 그레이디언트 클리핑(gradient clipping) | 언제 걸리는지, 튀는 배치(outlier batch) 하나가 무엇을 남기는지 | 5 |
| $\beta_2$와 가중치 감쇠(weight decay) | Adam의 기억은 얼마나 가는지, 감쇠를 어디에 거는지 | 5 |
| 평가와 기록 | 학습과 검증(validation)의 손실(loss)이 어떻게 움직이는지 | 6 |
| 길이가 다른 글의 누적 | 나누어 더한 그레이디언트가 큰 배치의 것과 같은지 | 7 |

이 노트북을 마치면 다음을 할 수 있습니다.

- 학습률 스케줄을 식 하나로 쓰고, 양 끝의 값을 한 스텝도 어긋나지 않게 맞춥니다.
- 워밍업, 감쇠, 클리핑이 무엇을 바꾸는지 수치로 말합니다.
- 작은 GPT의 학습 루프를 처음부터 끝까지 쓰고, 학습·검증 손실 곡선을 읽습니다.
- 길이가 다른 글을 누적하면서 큰 배치와 똑같은 업데이트를 합니다.

모두 7시간쯤 걸립니다. 본문을 읽고 예측하고 실행하는 데 3시간 40분, 연습 문제 5개를 푸는 데 3시간 반쯤입니다. 처음 배우는 사람을 기준으로 한 어림이라, 비슷한 코드를 써 보았다면 연습은 그 절반이면 됩니다. 점수에 들어가지 않고 힌트도 없는 보너스 문제가 2개 더 있습니다. 한 번에 다 하지 않아도 됩니다. 5절을 마친 곳이 쉬어 가기 좋습니다. 절과 연습 문제마다 시간과 난이도(★)를 적어 두었습니다.

예측은 실험을 실행하기 **전에** 고릅니다. 골라야 답과 까닭이 나옵니다. 연습 문제의 함수를 쓰고 `check(...)`를 실행합니다. 막히면 `hint("lr_at")`처럼 힌트를 봅니다. 본문의 수치는 여기에서 재고, 결론은 `assert`로 확인합니다. 표와 그림을 그리는 코드는 접혀 있고, 눌러서 펼쳐 볼 수 있습니다.

아래 셀은 필요한 것을 불러오고, 헌법의 글자를 번호로 바꾸어 학습용과 검증용으로 나눕니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 헌법, 글자와 번호 사이의 표
import json
import math
from functools import partial
from itertools import islice
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from grader import check, clinic, hint, predict, reveal
from grader.paths import asset_path
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"

# 대한민국헌법 전체입니다. 법률은 저작권의 보호를 받지 않습니다. 출처는 글과 같은 폴더의 README.md에 있습니다
text = asset_path("data", "constitution", "constitution.txt").read_text(encoding="utf-8")
alphabet = sorted(set(text))
number_of = {character: number for number, character in enumerate(alphabet)}
tokens = torch.tensor([number_of[character] for character in text])

# 제6장까지는 학습에, 제7장부터는 검증에 씁니다
border = text.index("\n제7장 선거관리")
train_tokens, val_tokens = tokens[:border], tokens[border:]


def windows(tokens, length):
    """length + 1글자씩, 절반을 겹쳐 나눕니다. 앞의 length글자가 입력이고, 한 칸 민 것이 정답입니다."""
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

약 15분 · ★☆☆

토큰(token)은 글자 하나입니다. 모델은 앞의 글자들을 보고 다음 글자를 맞힙니다. 입력이 열두 글자면 맞힐 글자도 열두 개입니다. 위치마다 거기까지의 글자만 보고 다음 한 글자를 맞힙니다.

GPT는 50줄이면 됩니다. 처음 보는 코드라면 `forward` 두 개만 읽어도 이 노트북을 따라올 수 있습니다.

블록에서 글자를 둘러보는 일을 어텐션(attention)이라고 합니다. 위치마다 벡터 세 개, 곧 쿼리(query), 키(key), 값(value)을 만듭니다. 한 위치의 쿼리를 거기까지의 키와 하나씩 내적해 일정한 수로 나눈 것이 점수이고, 점수를 softmax에 넣어 얻은 비율로 값을 섞습니다. 코드에서는 `scaled_dot_product_attention`이 합니다. 먼저 블록 하나입니다.
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


# %% [markdown]
r"""
블록을 쌓고, 앞에는 글자와 위치의 임베딩을, 뒤에는 글자마다 점수를 매기는 계층(layer)을 답니다.
"""


# %%
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


# %% [markdown]
r"""
손실은 모든 위치의 교차 엔트로피를 평균한 값입니다. `write`는 글자를 하나씩 뽑아 이어 붙입니다.
"""


# %% tags=["folded"]
# 도구: 모델 만들기, 손실, 글쓰기
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

**예측 1.** 아직 학습하지 않은 모델의 손실은 얼마쯤일까요? 글자는 379가지입니다.

- a: 약 0.003 (379분의 1)
- b: 약 1
- c: 약 6
- d: 약 379
"""

# %% tags=["predict"]
predict("03-1")

# %%
with torch.no_grad():
    first_losses = [token_loss(make_gpt(seed), short_train).item() for seed in range(3)]
    loud_losses = [token_loss(make_gpt(seed, std=1.0), short_train).item() for seed in range(3)]
print(f"처음 손실 {median(first_losses):.2f}")
print(f"초기 가중치의 표준편차를 50배인 1로 키우면 {median(loud_losses):.1f}")
print("학습하기 전의 글:", repr(write(make_gpt(0), "국회는 ", 40)))

# %% tags=["folded"]
# 확인: 처음 손실, 그리고 초기 가중치가 클 때의 손실
print(f"ln 379 = {math.log(379):.2f}")
assert all(abs(loss - math.log(379)) < 0.05 for loss in first_losses)
assert min(loud_losses) > 10
reveal("03-1")

# %% [markdown]
r"""
첫 손실이 $\ln(\text{글자 수})$와 다르면 학습을 시작하기 전에 멈추고 살펴봅니다. 초기 가중치(weight)가 너무 크면 위처럼 첫 손실이 훨씬 높습니다. 아무것도 모르면서 틀린 답을 확신합니다.

앞으로의 실험은 모두 아래 함수로 합니다. **스텝마다 쓸 학습률을 리스트로 줍니다.** 스케줄을 바꾸는 실험은 리스트만 바꾸면 됩니다.
"""


# %%
def train_with(rates, model, opt, stream, *, clip_from=0, max_norm=1.0, rogue=None, after=None):
    """rates에 적힌 학습률로 한 스텝(step)씩 학습하고, 배치 손실과 줄이기 전의 노름(norm)을 돌려줍니다.

    clip_from: 이 스텝부터 클리핑합니다. math.inf이면 끝까지 재기만 합니다.
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


# %% [markdown]
r"""
`climb_then("코사인", peak=…, warmup=…, total=…)`이 그 리스트를 만들고, `short_run(rates, seed)`가 작은 GPT를 AdamW로 학습합니다.

한 번의 학습은 시드(seed)에 따라 달라집니다. 그래서 학습을 비교할 때는 시드 6개를 봅니다. 모두 돌리면 12분쯤 걸리므로 **앞의 시드 한두 개만 지금 학습하고, 나머지는 이 코드로 미리 재어 둔 값을 읽습니다.** 아래 셀의 `MEASURE_ALL`을 `True`로 바꾸면 모두 다시 잽니다.
"""

# %% tags=["folded"]
# 도구: 배치, 학습률의 리스트, 시드 6개의 학습
MEASURE_ALL = False
stored_file = asset_path("data", "schedule_runs", "runs.json")
STORED = {} if MEASURE_ALL else json.loads(stored_file.read_text(encoding="utf-8"))


def batch_stream(parts, seed, size=16):
    """에폭마다 다시 섞어 끝없이 배치를 줍니다."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.randperm(len(parts), generator=generator).split(size):
            yield parts[rows.to(device)]


def climb_then(shape, *, peak, warmup, total, initial=3e-5, lowest=1e-6):
    """초기값에서 정점까지 오른 다음 shape("상수", "직선", "코사인", "WSD")대로 가는 학습률의 리스트입니다."""
    grid = {"steps": total - warmup, "dtype": torch.float64}
    height = {
        "상수": torch.linspace(1, 1, **grid),
        "직선": torch.linspace(1, 0, **grid),
        "코사인": (1 + torch.linspace(0, math.pi, **grid).cos()) / 2,
        "WSD": (torch.linspace(total - warmup - 1, 0, **grid) / 39).clamp(max=1),  # 마지막 40스텝에서만
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


def summary(log, warmup):
    """학습 하나를 숫자 몇 개로 줄입니다. curve와 norms는 지금 학습한 시드에만 있습니다."""
    losses, norms, val_loss = log
    early, late = norms[:warmup] or [0.0], norms[warmup:]
    return {
        "train": sum(losses[-10:]) / 10,
        "val": val_loss,
        "over_early": sum(norm > 1 for norm in early) / len(early),
        "over_late": sum(norm > 1 for norm in late) / len(late),
        "largest_early": max(early),
        "summit": norms.index(max(norms)),
        "curve": losses,
        "norms": norms,
    }


def six_seeds(key, run, *, live):
    """run(seed)을 앞의 live개 시드에서만 지금 실행하고, 시드 6개의 나머지는 미리 재어 둔 값을 읽습니다."""
    count = 6 if MEASURE_ALL else live
    STORED[key] = [run(seed) for seed in range(count)] + STORED.get(key, [])[count:]
    assert len(STORED[key]) == 6
    return STORED[key]


def schedule_runs(shape, *, peak, warmup, total, clip_from=math.inf, live=2):
    """스케줄 하나로 시드 6개를 학습한 결과입니다."""
    rates = climb_then(shape, peak=peak, warmup=warmup, total=total)
    key = f"{shape} peak={peak} warmup={warmup} total={total} clip_from={clip_from}"
    return six_seeds(
        key, lambda seed: summary(short_run(rates, seed, clip_from=clip_from), warmup), live=live
    )


def each(runs, what="train"):
    """시드마다의 값입니다."""
    return [run[what] for run in runs]


def spelled(values, digits=2):
    return " · ".join(f"{value:.{digits}f}" for value in values)


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


# %% [markdown]
r"""
## 2. 스텝을 셉니다

약 10분 · ★☆☆

스케줄은 전체 스텝 수를 미리 알아야 그릴 수 있습니다. 스텝은 `opt.step()` 한 번입니다.

**예측 2.** 한 에폭(epoch)에 배치가 30개이고, 네 개씩 누적해 12에폭을 학습합니다. 에폭 끝에 남은 배치로도 업데이트합니다. `opt.step()`은 몇 번 불릴까요?

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

워밍업의 길이는 전체의 비율로 정할 때가 많습니다. 흔히 0.1%에서 20% 사이를 씁니다. 짧은 학습에서는 비율이 작으면 반올림한 값이 0이 되므로, 적어도 한 스텝은 둡니다. 이 노트북의 비교 실험은 100스텝 안팎이라 워밍업이 전체의 20~40%를 차지합니다. 효과를 짧은 시간에 보려고 일부러 길게 잡은 것이고, 아래 함수는 그런 비율을 거절합니다.

### 연습 1. `plan_steps`

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
## 3. 워밍업: Adam의 처음 몇 스텝

약 40분 · ★★★

「처음에는 가중치가 제멋대로라 불안정하니 학습률을 낮게 시작한다.」 자주 듣는 설명이지만 무엇이 불안정한지는 말하지 않습니다. Adam이 첫 스텝에 하는 일을 봅니다.

**예측 3.** 손실에 1,000을 곱하고 첫 업데이트를 합니다. 그레이디언트는 1,000배가 됩니다. AdamW가 가중치를 옮기는 거리는 몇 배가 될까요?

- a: 1배
- b: 약 32배 ($\sqrt{1000}$)
- c: 1,000배
"""

# %% tags=["predict"]
predict("03-3")


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


for make_opt in [sgd, adamw]:
    ratio = first_move(make_opt, 1000.0).norm() / first_move(make_opt, 1.0).norm()
    print(f"{make_opt.__name__}: 손실을 1,000배 하면 움직인 거리는 {ratio:.2f}배")

# %% tags=["folded"]
# 확인: 거리의 비, 그리고 가중치마다 움직인 양이 학습률의 몇 배인지
growth = {
    make_opt.__name__: (first_move(make_opt, 1000.0).norm() / first_move(make_opt, 1.0).norm()).item()
    for make_opt in (sgd, adamw)
}
moved = first_move(adamw, 1.0).abs() / 1e-3
print(
    f"AdamW의 첫 업데이트에서 학습률의 0.9~1.1배 움직인 가중치: {((moved - 1).abs() < 0.1).float().mean():.0%}"
)
assert 990 < growth["sgd"] < 1010
assert 0.9 < growth["adamw"] < 1.2
assert ((moved - 1).abs() < 0.1).float().mean() > 0.8
assert moved.max() < 1.01
reveal("03-3")

# %% [markdown]
r"""
Adam과 AdamW는 그레이디언트의 이동 평균 $m$을, 제곱의 이동 평균 $v$의 제곱근으로 나눕니다. 첫 스텝에서는 $m$도 $v$도 배치 하나로 만든 값이고, 보정(bias correction)을 거치면 $m = g$, $v = g^2$이 됩니다. 그래서 $m/\sqrt{v} = g/|g|$, **부호만 남습니다.** 가중치 대부분이 똑같이 학습률만큼 움직입니다.

그 뒤의 업데이트는 얼마나 길까요? 학습률을 0.001로 고정하고 100스텝 동안 재 봅니다. 배치 하나가 정한 부호를 학습 데이터 전체로 구한 그레이디언트와도 비교합니다.

**예측 4.** 첫 업데이트의 길이는 백 번째쯤 업데이트의 몇 배일까요?

- a: 3분의 1쯤입니다.
- b: 학습률이 같으니 거의 같습니다.
- c: 세 배쯤입니다.
"""

# %% tags=["predict"]
predict("03-4")

# %%
lengths, turns = [], []
model = make_gpt(0)
places = [flat(model.parameters())]


def remember_move(step):
    """이번 업데이트의 길이와, 앞의 업데이트와 이루는 각의 코사인을 적습니다."""
    places.append(flat(model.parameters()))
    lengths.append((places[-1] - places[-2]).norm().item() / 1e-3)
    if step > 0:
        turns.append(F.cosine_similarity(places[-1] - places[-2], places[-2] - places[-3], dim=0).item())


opt = torch.optim.AdamW(model.parameters())
train_with([1e-3] * 100, model, opt, batch_stream(short_train, 0), clip_from=math.inf, after=remember_move)
calm = median(lengths[80:])
print(f"첫 업데이트의 길이는 여든 번째가 지난 뒤의 {lengths[0] / calm:.1f}배")

# %% tags=["folded"]
# 표와 그림: 배치 하나의 부호를 전체 데이터의 부호와 비교하고, 업데이트의 길이와 방향을 그립니다
model = make_gpt(0)
token_loss(model, short_train).backward()
whole = flat(p.grad for p in model.parameters())
model.zero_grad()
token_loss(model, next(batch_stream(short_train, seed=0))).backward()
single = flat(p.grad for p in model.parameters())
faint = whole.abs() < whole.abs().median()
same_sign = (single.sign() == whole.sign()).float()
agree = {
    "그레이디언트가 큰 절반": same_sign[~faint].mean().item(),
    "그레이디언트가 작은 절반": same_sign[faint].mean().item(),
    "작은 절반 가운데 배치에서 0이 아닌 것": same_sign[faint & (single != 0)].mean().item(),
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
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
axes[0].plot(lengths, color=COLORS["wrong"])
axes[0].axhline(calm, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[0].set(title="첫 업데이트가 가장 깁니다", xlabel="스텝", ylabel="길이 ÷ 학습률", ylim=(0, None))
axes[1].plot(range(1, 100), turns, color=COLORS["right"])
axes[1].axhline(0.9, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[1].set(title="같은 쪽으로 이어서 갑니다", xlabel="스텝", ylabel="앞 업데이트와의 코사인", ylim=(0, 1.05))
show(
    figure,
    "왼쪽: 업데이트는 첫 스텝에서 가장 길고, 30스텝쯤 지나면 길이가 그 3분의 1 가까이에서 거의 평평해집니다. "
    "오른쪽: 처음 몇 스텝을 지나면 이웃한 두 업데이트는 거의 같은 쪽을 가리킵니다.",
)
assert agree["그레이디언트가 큰 절반"] > 0.75
assert 0.48 < agree["그레이디언트가 작은 절반"] < 0.6
assert 0.6 < agree["작은 절반 가운데 배치에서 0이 아닌 것"] < 0.75
assert likeness["그레이디언트 그대로 (SGD)"] > 0.85
assert likeness["부호만 (Adam의 첫 스텝)"] < 0.4
assert 2.5 < lengths[0] / calm < 5
assert lengths.index(max(lengths)) == 0
assert median(turns[4:20]) > 0.85
reveal("03-4")

# %% [markdown]
r"""
세 가지가 겹칩니다.

1. **길이:** 첫 업데이트는 나중의 세 배쯤입니다.
2. **방향:** 그레이디언트가 작은 절반에서 배치 하나의 부호가 맞는 것은 절반을 조금 넘을 뿐입니다. 배치에 없는 글자의 임베딩처럼 그레이디언트가 0이라 움직이지 않는 것을 빼고 세어도 3분의 2쯤입니다. 그런데도 이 절반의 가중치 대부분이 학습률만큼 움직입니다. 그레이디언트를 그대로 쓰면 전체 데이터의 방향과 거의 같은데, 부호만 남기면 크게 벗어납니다.
3. **쏠림:** 이동 평균이 방향을 기억하므로 이웃한 업데이트는 거의 같은 쪽으로 갑니다. 방향이 제멋대로인 그레이디언트여도 $\beta_1$이 0.9이면 이 코사인은 0.9쯤입니다(점선). 처음에는 그보다도 높고, 걸음까지 길어서 한쪽으로 멀리 갑니다.

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
워밍업은 학습의 이 첫머리를 낮은 학습률로 지나갑니다. 손실이 어떻게 달라지는지 재 봅니다.

**예측 5.** 100스텝을 학습합니다. 정점은 0.001이나 0.006입니다. 처음 40스텝을 워밍업으로 쓰면, 쓰지 않을 때와 비교해 마지막 학습 손실은 어떻게 될까요?

- a: 정점이 0.006일 때만 낮아집니다.
- b: 둘 다 낮아집니다.
- c: 정점이 0.001일 때만 낮아집니다.
"""

# %% tags=["predict"]
predict("03-5")

# %%
warm = {}
for peak in [0.001, 0.006]:
    for warmup in [0, 40]:
        warm[peak, warmup] = schedule_runs("상수", peak=peak, warmup=warmup, total=100)
        print(
            f"정점 {peak}, 워밍업 {warmup:2}스텝: 마지막 배치 10개의 손실 {spelled(each(warm[peak, warmup]))}"
        )

# %% tags=["folded"]
# 그림과 확인: 정점마다 워밍업이 있을 때와 없을 때
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for axis, peak in zip(axes, [0.001, 0.006], strict=True):
    for warmup, color, style in [(0, COLORS["wrong"], "--"), (40, COLORS["right"], "-")]:
        label = f"워밍업 {warmup}스텝" if warmup else "워밍업 없음"
        for seed, run in enumerate(warm[peak, warmup]):
            if "curve" in run:
                axis.plot(run["curve"], style, color=color, linewidth=1.2, label=label if seed == 0 else None)
    axis.set(title=f"정점 {peak}: 워밍업이 {'손해' if peak == 0.001 else '이득'}입니다", xlabel="스텝")
axes[0].set_ylabel("배치 손실")
axes[0].legend(loc="upper right")
show(
    figure,
    "시드 0과 1의 배치 손실. 왼쪽, 정점 0.001: 워밍업이 없는 쪽이 먼저 내려가고 끝까지 조금 더 낮습니다. "
    "오른쪽, 정점 0.006: 워밍업이 없으면 처음에 빨리 내려가다가 3과 4 사이에서 멈추고, 워밍업이 있으면 3 아래까지 내려갑니다.",
)
assert median(each(warm[0.006, 0])) - median(each(warm[0.006, 40])) > 0.4
assert min(each(warm[0.006, 0])) > 3
assert sum(loss < 3 for loss in each(warm[0.006, 40])) >= 5
assert all(loss < 5 for loss in each(warm[0.006, 0]))  # 발산한 것은 아닙니다
pairs = zip(each(warm[0.001, 40]), each(warm[0.001, 0]), strict=True)
assert all(0 < slow - fast < 0.4 for slow, fast in pairs)
reveal("03-5")

# %% [markdown]
r"""
정점 0.006에서 워밍업을 빼도 발산하지 않고 NaN도 나지 않습니다. **조금 배우다가 멈춥니다.** 손실이 6에서 4 아래로 내려왔으니 나란히 놓고 보지 않으면 정상으로 보입니다. 워밍업을 하면 시드 6개 가운데 적어도 5개가 3 아래까지 내려갑니다. 반대로 정점이 0.001이면 워밍업은 6개 모두에서 손해입니다.

왜 효과가 있을까요? 워밍업은 두 가지 일을 한꺼번에 합니다. 여러 배치로 $m$과 $v$를 채우고, 가중치를 조금씩 옮깁니다. 어느 쪽 덕분인지, 둘 다 있어야 하는지 떼어 보겠습니다.

- **(가) 채우기만:** 40스텝 동안 학습률을 0으로 둡니다. $m$과 $v$는 채워지고 가중치는 그대로입니다. 그다음 바로 0.006으로 60스텝을 갑니다.
- **(나) 옮기기만:** 워밍업 40스텝을 그대로 합니다. 그다음 옵티마이저(optimizer)를 새로 만들어 $m$과 $v$를 비우고, 0.006으로 60스텝을 갑니다.

**예측 6.** 시드 6개 가운데 적어도 5개에서 마지막 학습 손실이 3 아래로 내려가는 것은 어느 쪽일까요?

- a: (가)만
- b: (나)만
- c: 둘 다
- d: 둘 다 아닙니다.
"""

# %% tags=["predict"]
predict("03-6")


# %%
def fill_only(seed):
    """(가) 학습률이 0인 40스텝 동안 m과 v만 채웁니다."""
    return summary(short_run([0.0] * 40 + [0.006] * 60, seed), 40)


def move_only(seed):
    """(나) 워밍업한 가중치에서, 빈 m과 v로 정점을 시작합니다."""
    model, stream = make_gpt(seed), batch_stream(short_train, seed)
    rates = climb_then("상수", peak=0.006, warmup=40, total=100)
    log = []
    for part in (rates[:40], rates[40:]):
        opt = torch.optim.AdamW(model.parameters())
        log.append(train_with(part, model, opt, stream, clip_from=math.inf))
    with torch.no_grad():
        val_loss = token_loss(model, short_val).item()
    return summary((log[0][0] + log[1][0], log[0][1] + log[1][1], val_loss), 40)


filled = six_seeds("fill_only", fill_only, live=1)
shifted = six_seeds("move_only", move_only, live=1)
print("(가) 채우기만:", spelled(each(filled)))
print("(나) 옮기기만:", spelled(each(shifted)))

# %% tags=["folded"]
# 표와 확인: 네 가지 출발을 나란히 놓습니다. 학습률이 0이면 가중치가 정말 그대로인지도 봅니다
show_table(
    ["정점 0.006으로 가기 전 40스텝", "m과 v", "가중치", "마지막 학습 손실의 중앙값 (시드 6개)"],
    [
        ["없음", "비어 있음", "처음 그대로", median(each(warm[0.006, 0]))],
        ["(가) 학습률 0", "채움", "처음 그대로", median(each(filled))],
        ["(나) 워밍업, 옵티마이저를 새로", "비어 있음", "옮김", median(each(shifted))],
        ["워밍업", "채움", "옮김", median(each(warm[0.006, 40]))],
    ],
)
still = make_gpt(0)
there = flat(still.parameters())
opt = torch.optim.AdamW(still.parameters())
train_with([0.0] * 3, still, opt, batch_stream(short_train, 0))
assert torch.equal(flat(still.parameters()), there)
assert all(opt.state[p]["exp_avg_sq"].any() for p in still.parameters())
assert min(each(filled)) > 3.3
assert median(each(filled)) > median(each(warm[0.006, 0])) - 0.1
assert sum(loss < 3 for loss in each(shifted)) >= 5
reveal("03-6")

# %% [markdown]
r"""
「워밍업 동안 $m$과 $v$에 여러 배치가 섞여서」라는 설명이 흔합니다. 그런데 재어 보니 달랐습니다. $m$과 $v$를 채워도 가중치가 처음 자리에 있으면 멈추고, $m$과 $v$를 비워도 가중치가 옮겨져 있으면 내려갑니다. 여기에서 워밍업이 한 일은 이동 평균을 채운 것이 아니라 **가중치를 큰 걸음도 견디는 자리로 옮긴 것**입니다. 처음 자리에서 거칠게 출발한 학습은 100스텝 안에 빠져나오지 못했습니다.

그 자리는 왜 큰 걸음을 견딜까요? 여기에서 답하지 못한 물음입니다. $v$를 만든 배치가 적어 걸음이 들쭉날쭉한 것을 원인으로 보는 설명이 있습니다([Liu 외, 2019](https://arxiv.org/abs/1908.03265)). 그러나 (가)는 배치 40개로 $v$를 채우고도 멈췄으니, 이 실험은 그것만으로 설명되지 않습니다. 곡률로 답하는 연구도 있습니다. 손실이 가파르게 휜 곳일수록 쓸 수 있는 학습률이 낮고([Cohen 외, 2021](https://arxiv.org/abs/2103.00065)), 학습률을 천천히 올리면 학습이 덜 휜 쪽으로 갈 틈이 생긴다는 것입니다([Gilmer 외, 2021](https://arxiv.org/abs/2110.04369), [Kalra와 Barkeshli, 2024](https://arxiv.org/abs/2406.09405)). 이 모델도 그런지 재어 봅니다.

재는 것은 **가장 큰 곡률** $\lambda_{\max}$입니다. 손실을 두 번 미분한 행렬(헤세 행렬, Hessian)의 가장 큰 고윳값이고, 클수록 가장 가파른 방향으로 급하게 휘어 있습니다. 언제나 같은 32조각의 손실로, 처음과 60스텝까지의 일곱 곳에서 잽니다. 정점 0.006에 워밍업이 없을 때와 있을 때, 그리고 워밍업 없이도 잘 내려가는 정점 0.003을 비교합니다.
"""


# %% tags=["folded"]
# 도구: 가장 큰 곡률 λmax. 행렬을 만들지 않고 벡터와 곱한 값만 씁니다. 04에서 자세히 다룹니다
MARKS = (0, 4, 8, 12, 16, 28, 40, 60)
curved_part = short_train[::30]  # 언제나 같은 32조각으로 잽니다


def largest_curvature(model, part, rounds=12):
    """손실을 두 번 미분한 행렬(헤세 행렬)의 가장 큰 고윳값을 란초시(Lanczos) 방법으로 어림합니다."""
    parameters = list(model.parameters())
    with sdpa_kernel(SDPBackend.MATH):  # 빠른 어텐션은 두 번 미분하지 못합니다
        grads = torch.autograd.grad(token_loss(model, part), parameters, create_graph=True)
        slope = torch.cat([grad.flatten() for grad in grads])
        start = torch.randn(len(slope), generator=torch.Generator().manual_seed(0)).to(device)
        basis, products = [start / start.norm()], []
        while len(products) < rounds:
            products.append(flat(torch.autograd.grad(slope @ basis[-1], parameters, retain_graph=True)))
            fresh = products[-1]
            for known in basis * 2:  # 반올림 오차가 쌓이지 않게 두 번 뺍니다
                fresh = fresh - (fresh @ known) * known
            basis.append(fresh / fresh.norm())
    small = torch.stack(basis[:-1]) @ torch.stack(products).T
    return torch.linalg.eigvalsh((small + small.T) / 2)[-1].item()


def curvature_run(rates, seed):
    """MARKS에 적은 스텝에 이를 때마다 λmax를 잽니다. 클리핑은 하지 않습니다."""
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters())
    curvature = {"0": largest_curvature(model, curved_part)}

    def look(step):
        if step + 1 in MARKS:
            curvature[str(step + 1)] = largest_curvature(model, curved_part)

    train_with(
        rates[: MARKS[-1]], model, opt, batch_stream(short_train, seed), clip_from=math.inf, after=look
    )
    return curvature


# %%
curved = {}
for peak, warmup in [(0.006, 0), (0.006, 40), (0.003, 0)]:
    rates = climb_then("상수", peak=peak, warmup=warmup, total=100)
    key = f"curvature peak={peak} warmup={warmup}"
    curved[peak, warmup] = six_seeds(key, partial(curvature_run, rates), live=0)
    medians = [median(each(curved[peak, warmup], str(mark))) for mark in MARKS]
    print(f"정점 {peak}, 워밍업 {warmup:2}스텝: λmax의 중앙값 {spelled(medians, 0)}")
print("잰 스텝:", *MARKS)

# %% tags=["folded"]
# 그림과 확인: λmax는 모두 미리 재어 둔 값입니다. 맨 처음의 값 하나만 지금 다시 재어 맞추어 봅니다
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
for axis, ((peak, warmup), runs), color in zip(
    axes, curved.items(), ("wrong", "right", "third"), strict=True
):
    for run in runs:
        axis.plot(MARKS, list(run.values()), color=COLORS[color], linewidth=0.8, alpha=0.6)
    middle = [median(each(runs, str(mark))) for mark in MARKS]
    axis.plot(MARKS, middle, color=COLORS[color], linewidth=2.4, marker="o", markersize=4)
    if warmup:
        axis.axvspan(0, warmup, color=COLORS["grid"], alpha=0.6)
    title = f"{peak}, 워밍업 {warmup}스텝" if warmup else f"{peak}, 워밍업 없음"
    axis.set(title=title, xlabel="스텝", yscale="log")
axes[0].set_ylabel("λmax")
show(
    figure,
    "가장 큰 곡률, 세로축은 로그. 가는 선은 시드 6개, 굵은 선은 중앙값. 왼쪽, 정점 0.006에 워밍업 없음: 30대에서 시작해 4스텝 만에 "
    "한 시드를 빼고 10 아래로 떨어지고, 시드 하나는 12스텝에서 1,000을 넘습니다. 가운데, 워밍업 40스텝(칠한 곳): 4스텝에서 조금 "
    "올랐다가 10 안팎으로 내려가고, 다시 올라 워밍업이 끝날 때는 30쯤입니다. 오른쪽, 정점 0.003에 워밍업 없음: 시드마다 크게 "
    "오르내리고, 시드 하나는 8스텝에서 1,000을 넘습니다.",
)
rough, gentle, modest = curved.values()
now = largest_curvature(make_gpt(0), curved_part)
assert all(abs(runs[0]["0"] / now - 1) < 0.1 for runs in curved.values())
assert sum(run["4"] < 10 for run in rough) == 5
flatter = {
    mark: sum(a < b for a, b in zip(each(rough, str(mark)), each(gentle, str(mark)), strict=True))
    for mark in MARKS
}
assert min(flatter[mark] for mark in (4, 8, 28, 40)) >= 5
assert flatter[12] <= 1
assert all(run["12"] < 0.6 * run["0"] for run in gentle)
assert all(0.7 < run["40"] / run["0"] < 1.1 for run in gentle)
assert [max(run.values()) > 1000 for run in rough] == [True] + [False] * 5
assert [max(run.values()) > 1000 for run in modest] == [False] * 3 + [True] + [False] * 2
assert max(each(schedule_runs("상수", peak=0.003, warmup=0, total=100, live=0))) < 3

# %% [markdown]
r"""
워밍업의 앞부분은 Gilmer 외의 설명과 맞습니다. 12스텝에 이르면 시드 6개 모두 $\lambda_{\max}$가 처음의 0.6배 아래입니다. 그러나 학습률이 마저 오르는 동안 다시 커져서, **워밍업이 끝나 정점에 이를 때는 처음의 0.7~1.1배**입니다. 거칠게 출발한 쪽이 늘 더 휜 곳에 있는 것도 아닙니다. 적어도 5개의 시드에서, 워밍업이 없는 쪽의 $\lambda_{\max}$가 12스텝에는 더 높지만 4·8·28·40스텝에는 더 낮습니다. 1,000을 넘는 일은 0.006에서 한 번, 0.003에서 한 번 있었는데, 0.003의 그 시드는 3 아래까지 내려갔습니다.

그러니 여기에서 $\lambda_{\max}$의 높낮이만으로는 큰 걸음을 견디는 자리와 그렇지 못한 자리를 가릴 수 없습니다. 다만 잰 것은 여덟 스텝의 값이고, 그 사이의 일은 모릅니다. Adam은 가중치마다 걸음을 $\sqrt{v}$로 나누므로, 곡률도 그렇게 나누어 보아야 한다는 연구가 있습니다([Cohen 외, 2022](https://arxiv.org/abs/2207.14484)). 드문 글자의 임베딩은 $v$가 0에 가까워 그 몇 개가 값을 좌우하므로, 여기에서는 재지 않았습니다.

끝으로 정점과 워밍업과 클리핑(5절)을 모두 바꾸어 재어 둔 값입니다. 칸마다 시드 6개의 중앙값입니다.
"""

# %% tags=["folded"]
# 표와 확인: 정점 3개 × 워밍업 2가지 × 클리핑 2가지 × 시드 6개. 모두 미리 재어 둔 값입니다
grid = {
    (peak, warmup, clip_from): schedule_runs(
        "상수", peak=peak, warmup=warmup, total=100, clip_from=clip_from, live=0
    )
    for peak in (0.001, 0.003, 0.006)
    for warmup in (0, 40)
    for clip_from in (math.inf, 0)
}
show_table(
    ["정점", "워밍업", "클리핑", "학습 손실", "검증 손실"],
    [
        [
            peak,
            f"{warmup}스텝" if warmup else "없음",
            "없음" if clip_from else "처음부터",
            *(f"{median(each(runs, what)):.2f}" for what in ("train", "val")),
        ]
        for (peak, warmup, clip_from), runs in grid.items()
    ],
)
middle, high = (median(each(grid[setting])) for setting in [(0.003, 0, math.inf), (0.006, 40, math.inf)])
assert abs(middle - high) < 0.05
val_medians = {setting: median(each(runs, "val")) for setting, runs in grid.items()}
assert min(val_medians, key=val_medians.get) == (0.003, 0, 0)
assert val_medians[0.003, 0, math.inf] < val_medians[0.006, 40, math.inf]
assert median(each(grid[0.006, 0, 0])) < median(each(grid[0.006, 0, math.inf])) - 0.3
assert all(loss < 3 for loss in each(grid[0.006, 40, 0]))

# %% [markdown]
r"""
워밍업은 공짜 안전장치가 아니라 **더 높은 학습률을 쓰려고 치르는 값**입니다. 그리고 여기서는 그 값을 치르고 얻은 것이 없습니다. 정점을 0.003으로 낮추면 워밍업 없이도 0.006에 워밍업을 한 만큼 내려가고, 검증 손실의 중앙값은 오히려 조금 낮습니다. 워밍업 없이 클리핑만 해도 0.006에서 잃은 것의 절반쯤을 되찾습니다. 남의 설정에서 워밍업의 길이만 옮겨 오지 말고, 정점부터 몇 가지 재 보세요.

## 4. 감쇠: 코사인과 직선

약 25분 · ★★☆

정점에서 가장 낮은 값까지 내려갈 때는 두 가지 모양을 많이 씁니다. 코사인의 반 주기와 직선입니다.

**예측 7.** 시작과 끝이 같은 두 내리막의 **평균 학습률**은 어느 쪽이 높을까요?

- a: 직선
- b: 같습니다.
- c: 코사인
"""

# %% tags=["predict"]
predict("03-7")

# %%
SHAPES = {"상수": ("wrong", ":"), "코사인": ("right", "-"), "직선": ("third", "--")}
drawn = {shape: climb_then(shape, peak=0.01, warmup=40, total=180) for shape in SHAPES}
for shape in SHAPES:
    print(f"{shape}: 내리막 140스텝의 평균 학습률 {sum(drawn[shape][40:]) / 140:.5f}")

# %% tags=["folded"]
# 그림과 확인: 학습률 곡선 셋
figure, axis = plt.subplots()
for shape, (color, style) in SHAPES.items():
    axis.plot(drawn[shape], style, color=COLORS[color], label=shape)
axis.axvspan(0, 40, color=COLORS["grid"], alpha=0.6)
axis.text(2, 0.0093, "워밍업", color=COLORS["muted"])
axis.set(title="코사인과 직선은 양 끝과 가운데에서 만납니다", xlabel="스텝", ylabel="학습률")
axis.legend(loc="lower center")
show(
    figure,
    "학습률 곡선 셋. 모두 40스텝 동안 곧게 올라 정점 0.01에 이릅니다. 그 뒤 상수는 머물고, 코사인은 처음에 직선보다 높다가 "
    "가운데에서 만나고 끝에서는 더 낮으며, 마지막 스텝에서 둘 다 바닥에 닿습니다.",
)
for shape in ["코사인", "직선"]:
    assert drawn[shape][0] == 3e-5
    assert drawn[shape][40] == 0.01
    assert math.isclose(drawn[shape][179], 1e-6, rel_tol=1e-9)
    assert all(later < earlier for earlier, later in zip(drawn[shape][40:], drawn[shape][41:], strict=False))
average = {shape: sum(drawn[shape][40:]) / 140 for shape in SHAPES}
assert math.isclose(average["코사인"], average["직선"], rel_tol=1e-9)
assert drawn["코사인"][75] > drawn["직선"][75]
assert drawn["코사인"][145] < drawn["직선"][145]
reveal("03-7")

# %% [markdown]
r"""
**예측 8.** 180스텝을 학습합니다. 워밍업은 40스텝입니다. 감쇠하면 정점에 그대로 머물 때보다 마지막 **학습 손실**이 낮아지는 것은 어느 쪽일까요?

- a: 정점이 0.01일 때만
- b: 정점이 0.002일 때만
- c: 0.002일 때와 0.01일 때 모두
"""

# %% tags=["predict"]
predict("03-8")

# %%
decay_runs = {}
for peak in [0.002, 0.01]:
    for shape in SHAPES:
        runs = schedule_runs(shape, peak=peak, warmup=40, total=180, clip_from=0, live=1)
        decay_runs[peak, shape] = runs
        print(f"정점 {peak}, {shape}: 마지막 배치 10개의 손실 {spelled(each(runs))}")

# %% tags=["folded"]
# 표와 확인: 정점 4개 × 모양 3가지 × 시드 6개. 정점 0.001과 0.005는 모두 미리 재어 둔 값입니다
for peak in [0.001, 0.005]:
    for shape in SHAPES:
        decay_runs[peak, shape] = schedule_runs(shape, peak=peak, warmup=40, total=180, clip_from=0, live=0)
show_table(
    ["정점", *(f"{name} 손실: {shape}" for name in ("학습", "검증") for shape in SHAPES)],
    [
        [
            peak,
            *(
                f"{median(each(decay_runs[peak, shape], what)):.2f}"
                for what in ("train", "val")
                for shape in SHAPES
            ),
        ]
        for peak in [0.001, 0.002, 0.005, 0.01]
    ],
)
for shape in ["코사인", "직선"]:
    high = zip(each(decay_runs[0.01, shape]), each(decay_runs[0.01, "상수"]), strict=True)
    assert all(decayed < kept for decayed, kept in high)
    assert median(each(decay_runs[0.01, shape])) < median(each(decay_runs[0.01, "상수"])) - 0.04
    low = zip(each(decay_runs[0.002, shape]), each(decay_runs[0.002, "상수"]), strict=True)
    assert all(kept < decayed - 0.02 for decayed, kept in low)
both = zip(each(decay_runs[0.01, "코사인"]), each(decay_runs[0.01, "직선"]), strict=True)
assert max(abs(first - second) for first, second in both) < 0.1
decay_val = {setting: median(each(runs, "val")) for setting, runs in decay_runs.items()}
assert min(decay_val, key=decay_val.get) == (0.002, "상수")
reveal("03-8")

# %% [markdown]
r"""
코사인과 직선의 차이는 이 실험에서 거의 없습니다. 널리 쓰인다고 해서 코사인의 모양이 특별히 낫지는 않았습니다. 학습 손실에는 모양보다 **내리느냐 마느냐**와 **정점이 얼마나 높으냐**가 중요합니다.

검증 손실 쪽도 보세요. 정점이 0.01이면 내리는 쪽이 조금 낮지만, 표에서 가장 낮은 값은 정점 0.002를 그대로 유지한 학습입니다. 그러나 180스텝짜리 짧은 학습이므로 이 표를 「감쇠는 검증에 소용없다」로 읽으면 안 됩니다. 큰 말뭉치에서 감쇠가 무엇을 주는지는 이 데이터로는 알 수 없습니다. 확실한 것은 스케줄을 고를 때 학습 손실만 보면 안 된다는 점입니다.

### 연습 2. `lr_at`

약 30분 · ★★☆

리스트를 만들지 않고, `step` 하나를 받아 그 스텝의 학습률을 돌려줍니다. 끝을 어떻게 맞출지가 문제입니다. 스텝이 0부터 시작하므로 마지막 스텝은 `total_steps − 1`입니다. **마지막 업데이트가 정확히 `min_lr`을 씁니다.** 워밍업이 전체와 같거나 한 스텝 짧으면 내리막의 분모가 0 이하가 됩니다. 식을 쓰기 전에 그 두 경우를 어디에서 거를지 정하세요.
"""


# %% tags=["exercise:lr_at"]
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    """step번째 업데이트(0부터)에 쓸 학습률입니다.

    step < warmup_steps        initial_lr에서 peak_lr로 곧게 올라갑니다. step = warmup_steps에서 peak_lr입니다.
    그 뒤                      peak_lr에서 min_lr로 내려갑니다. decay는 "cosine"이나 "linear"입니다.
    step ≥ total_steps − 1     min_lr입니다. 단, step < warmup_steps이면 오르막이 먼저입니다.

    warmup_steps는 0일 수도, total_steps일 수도 있습니다. 모르는 decay에는 어느 스텝에서든 ValueError를 냅니다.
    아주 작은 학습률도 반올림하지 않습니다.
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
### 정점에 머물다가 끝에서만 내리기: WSD

요즘 언어 모델에는 워밍업한 다음 정점에 오래 머물다가(stable) 끝에서만 빠르게 내리는 스케줄(warmup–stable–decay, WSD)도 씁니다([MiniCPM](https://arxiv.org/abs/2404.06395)). 마지막 40스텝에서만 곧게 내리는 WSD를 코사인과 비교합니다. 180스텝을 계획했는데 80스텝을 더 하게 되었다고 하겠습니다. 180스텝으로 그린 코사인은 이미 바닥이므로, 그대로 이어 가면 더한 80스텝을 바닥의 학습률로 학습합니다.
"""

# %%
for shape in ["코사인", "WSD"]:
    short, long = (climb_then(shape, peak=0.01, warmup=40, total=total) for total in (180, 260))
    shared = next(step for step in range(180) if short[step] != long[step])
    print(f"{shape}: 180스텝 계획과 260스텝 계획은 앞의 {shared}스텝이 같습니다")


def stranded(seed):
    """180스텝으로 그린 코사인이 끝난 뒤, 바닥의 학습률로 80스텝을 더 학습합니다."""
    rates = climb_then("코사인", peak=0.01, warmup=40, total=180)
    return summary(short_run(rates + [rates[-1]] * 80, seed, clip_from=0), 40)


wsd_runs = {"바닥에서 80스텝 더": six_seeds("코사인 180스텝 뒤에 바닥 80스텝", stranded, live=1)}
for total in [180, 260]:
    for shape in ["코사인", "WSD"]:
        live = int(total == 180 and shape == "WSD")
        wsd_runs[shape, total] = schedule_runs(
            shape, peak=0.01, warmup=40, total=total, clip_from=0, live=live
        )

# %% tags=["folded"]
# 표와 확인: 두 모양을 두 길이로, 그리고 180스텝의 코사인을 이어 간 것. 시드 6개의 중앙값입니다
show_table(
    ["학습", "학습 손실 (180스텝)", "학습 손실 (260스텝)", "검증 손실 (180스텝)", "검증 손실 (260스텝)"],
    [
        [name, *(f"{median(each(runs, what)):.2f}" for what in ("train", "val") for runs in pair)]
        for name, pair in [
            ("코사인, 길이마다 처음부터 다시", [wsd_runs["코사인", 180], wsd_runs["코사인", 260]]),
            ("WSD", [wsd_runs["WSD", 180], wsd_runs["WSD", 260]]),
            (
                "180스텝의 코사인을 바닥에서 이어 감",
                [wsd_runs["코사인", 180], wsd_runs["바닥에서 80스텝 더"]],
            ),
        ]
    ],
)


def gaps(one, other, what="train"):
    return [b - a for a, b in zip(each(wsd_runs[one], what), each(wsd_runs[other], what), strict=True)]


plans = [climb_then("WSD", peak=0.01, warmup=40, total=total) for total in (180, 260)]
assert plans[0][:141] == plans[1][:141]
assert plans[0][140] == 0.01 > plans[0][141]
assert max(map(abs, gaps(("코사인", 180), ("WSD", 180)))) < 0.06
assert min(gaps(("WSD", 260), ("코사인", 260))) > 0.02
assert min(gaps(("WSD", 260), "바닥에서 80스텝 더")) > 0.15
assert max(map(abs, gaps(("코사인", 180), "바닥에서 80스텝 더", "val"))) < 0.02

# %% [markdown]
r"""
180스텝에서는 둘이 거의 같고, 260스텝에서는 시드 6개 모두 WSD의 학습 손실이 조금 더 낮습니다. 더 중요한 것은 **앞부분이 같다**는 점입니다. WSD는 내리기 시작할 때까지 전체 길이를 몰라도 됩니다(내리막의 첫 스텝은 아직 정점이라 141스텝까지 같습니다). 140스텝을 마친 체크포인트를 남겨 두면, 거기에서 40스텝을 내려 180스텝짜리를 끝내고, 같은 체크포인트에서 정점을 이어 가 120스텝 뒤에 260스텝짜리도 끝낼 수 있습니다. 140 + 40 + 120, 모두 300스텝입니다. 코사인은 길이마다 처음부터 다시 해야 하므로 180 + 260, 440스텝입니다. 바닥에서 이어 간 80스텝에서는 손실이 거의 내려가지 않았습니다.

### 보너스 1. `wsd_at`

약 25분 · ★★☆

`lr_at`처럼 스텝 하나의 학습률을 돌려주되, 모양은 WSD입니다. 전체 스텝 수 대신 워밍업, 유지, 내리막의 길이를 따로 받습니다. 세는 법은 `lr_at`과 같습니다. 스텝은 0부터 세고, 정점은 `step = warmup_steps`이고, 마지막 업데이트가 정확히 `min_lr`을 씁니다. 다만 `decay_steps`가 0이면 내려가지 않은 채 끝납니다. 유지와 내리막이 모두 0이면 `step = warmup_steps`는 이미 끝난 뒤이므로 `min_lr`입니다. `stable_steps`가 0이면 `initial_lr`을 `min_lr`로 놓은 `lr_at`의 `decay="linear"`와 같습니다. 세 길이는 저마다 0일 수 있습니다(셋 다 0이면 오류입니다). 어느 분모가 0이 되는지 먼저 찾아보세요.

보너스 문제는 채점만 하고 점수에 넣지 않습니다. 힌트도 없습니다.
"""


# %% tags=["exercise:wsd_at"]
def wsd_at(step, *, max_lr, min_lr, warmup_steps, stable_steps, decay_steps) -> float:
    """step번째 업데이트(0부터)에 쓸 학습률을 float로 돌려줍니다. 전체 스텝 수는 세 길이의 합입니다.

    max_lr과 min_lr은 float입니다. 아주 작아도 반올림하지 않습니다.

    앞의 warmup_steps스텝    min_lr(0번째 스텝)에서 (max_lr − min_lr) / warmup_steps씩 곧게 올라갑니다.
    다음 stable_steps스텝    max_lr입니다.
    다음 decay_steps스텝     첫 스텝은 아직 max_lr이고, 곧게 내려가 마지막 스텝이 min_lr입니다. 한 스텝뿐이면 min_lr입니다.
    그 뒤                    min_lr입니다.

    ValueError: step이나 어느 길이가 음수일 때, 세 길이가 모두 0일 때, 0 <= min_lr <= max_lr이 아닐 때.
    step이 어느 부분에 있든 냅니다.
    """
    # BEGIN SOLUTION
    lengths = (warmup_steps, stable_steps, decay_steps)
    if step < 0 or min(lengths) < 0 or sum(lengths) == 0:
        raise ValueError(f"스텝과 길이는 음수가 아니고, 길이의 합은 1 이상이어야 합니다: {step}, {lengths}")
    if not 0 <= min_lr <= max_lr:
        raise ValueError(f"0 <= min_lr <= max_lr이어야 합니다: {min_lr}, {max_lr}")
    # 1. 오르막: min_lr에서 출발합니다
    if step < warmup_steps:
        return min_lr + (max_lr - min_lr) * step / warmup_steps
    # 2. 유지
    if step < warmup_steps + stable_steps:
        return max_lr
    # 3. 내리막: 마지막 스텝까지 남은 칸으로 높이를 구합니다
    steps_left = sum(lengths) - 1 - step
    if steps_left <= 0:
        return min_lr
    return min_lr + (max_lr - min_lr) * steps_left / (decay_steps - 1)
    # END SOLUTION


# %% tags=["check"]
check(wsd_at)

# %% [markdown]
r"""
## 5. 클리핑: 노름을 재고, 넘으면 줄입니다

약 45분 · ★★☆

그레이디언트를 모두 한 줄로 이어 붙인 벡터의 길이를 노름이라고 합니다. `max_norm`을 넘으면 전체에 같은 수를 곱해 길이를 맞춥니다. 방향은 그대로입니다. 한 번은 손으로 계산해 봅니다. 매개변수가 두 개이고 그레이디언트가 $(3, 4)$와 $(12)$이면, 이어 붙인 벡터는 $(3, 4, 12)$이고 노름은 $\sqrt{3^2 + 4^2 + 12^2} = 13$입니다. `max_norm`이 6.5이면 모두 절반이 됩니다.
"""

# %%
first, second = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
first.grad, second.grad = torch.tensor([3.0, 4.0]), torch.tensor([12.0])
by_hand = math.sqrt(3**2 + 4**2 + 12**2)
returned = clip_grad_norm_([first, second], max_norm=6.5)
print(f"손으로 {by_hand}, clip_grad_norm_이 돌려준 값 {returned.item()}")
print("줄인 그레이디언트:", spelled([*first.grad, *second.grad]))

# %% tags=["folded"]
# 확인: 돌려주는 값은 줄이기 전의 노름이고, 모두 같은 비율로 줄었습니다
assert math.isclose(returned.item(), by_hand)
assert torch.allclose(first.grad, torch.tensor([1.5, 2.0]))
assert torch.allclose(second.grad, torch.tensor([6.0]))

# %% [markdown]
r"""
언제부터 클리핑할지는 코드마다 다릅니다. 처음부터 하기도 하고, 널리 읽히는 글의 코드처럼 워밍업이 끝난 다음부터 하기도 합니다. 앞쪽은 처음에는 가중치가 아직 자리를 잡지 못했다는 것을, 뒤쪽은 워밍업 동안에는 학습률이 낮다는 것을 까닭으로 듭니다. 두 가지를 예측합니다.

**예측 9.** 워밍업 20스텝, 정점 0.01로 100스텝을 학습하면서 워밍업 뒤부터 클리핑합니다. 노름이 1을 가장 자주 넘는 곳은 어디일까요?

- a: 워밍업 동안
- b: 워밍업 뒤
- c: 처음부터 끝까지 비슷합니다.
"""

# %% tags=["predict"]
predict("03-9")

# %% [markdown]
r"""
**예측 10.** 워밍업 뒤부터 클리핑하는 것과 처음부터 클리핑하는 것은 마지막 학습 손실이 어떻게 다를까요?

- a: 같습니다.
- b: 처음부터 하는 쪽이 낮습니다.
- c: 워밍업 뒤에만 하는 쪽이 낮습니다.
"""

# %% tags=["predict"]
predict("03-10")

# %%
clipped_from = {}
for start in [20, 0]:
    clipped_from[start] = schedule_runs("상수", peak=0.01, warmup=20, total=100, clip_from=start)
late = clipped_from[20]
print("노름이 1을 넘은 스텝의 비율 (시드 6개, 워밍업 뒤부터 클리핑)")
print("  워밍업 20스텝:", " · ".join(f"{share:.0%}" for share in each(late, "over_early")))
print("  그 뒤 80스텝:", " · ".join(f"{share:.0%}" for share in each(late, "over_late")))

# %% tags=["folded"]
# 그림과 확인: 줄이기 전의 노름과, 클리핑을 시작하는 때에 따른 손실
print("워밍업 동안 가장 컸던 노름:", " · ".join(f"{norm:.0f}" for norm in each(late, "largest_early")))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for run in late:
    if "norms" in run:
        axes[0].plot(run["norms"], color=COLORS["third"], linewidth=1.1, alpha=0.8)
axes[0].axvspan(0, 20, color=COLORS["grid"], alpha=0.7)
axes[0].axhline(1, color=COLORS["muted"], linestyle="--", linewidth=1)
axes[0].set(
    title="노름은 워밍업 동안 솟습니다", xlabel="스텝 (칠한 곳이 워밍업)", ylabel="노름", yscale="log"
)
for start, color, style, label in [
    (20, COLORS["wrong"], "--", "워밍업 뒤부터 클리핑"),
    (0, COLORS["right"], "-", "처음부터 클리핑"),
]:
    for seed, run in enumerate(clipped_from[start]):
        if "curve" in run:
            axes[1].plot(run["curve"], style, color=color, linewidth=1.2, label=label if seed == 0 else None)
axes[1].set(title="그때 줄이지 않으면 여파가 오래갑니다", xlabel="스텝", ylabel="배치 손실")
axes[1].legend(loc="upper right")
show(
    figure,
    "시드 0과 1입니다. 왼쪽: 줄이기 전의 노름. 처음에 2쯤이고, 시드 0은 워밍업이 끝나기 전에 10 넘게, "
    "시드 1은 워밍업이 막 끝난 20스텝에 8쯤까지 솟았다가 그 뒤로는 거의 1 아래에 있습니다. "
    "오른쪽: 처음부터 클리핑한 곡선은 3 아래까지 내려가고, 워밍업 뒤부터 클리핑한 시드 0의 곡선은 그보다 위에 머뭅니다.",
)
assert median(each(late, "over_early")) > 0.8
assert median(each(late, "over_late")) < 0.35
assert median(each(late, "largest_early")) > 5
assert 5 <= median(each(late, "summit")) < 20  # 학습률이 다 올라가기 전입니다
reveal("03-9")

# %%
for start, name in [(20, "워밍업 뒤부터"), (0, "처음부터")]:
    runs = each(clipped_from[start])
    print(f"{name} 클리핑: 마지막 배치 10개의 손실 {spelled(runs)}, 중앙값 {median(runs):.2f}")

# %% tags=["folded"]
# 확인: 클리핑을 시작하는 때의 차이. 정점 0.003은 미리 재어 둔 값입니다
lower = {
    start: each(schedule_runs("상수", peak=0.003, warmup=20, total=100, clip_from=start, live=0))
    for start in (20, 0)
}
print(f"정점이 0.003이면: 워밍업 뒤부터 {spelled(lower[20])}")
print(f"정점이 0.003이면: 처음부터 {spelled(lower[0])}")
assert median(each(clipped_from[20])) - median(each(clipped_from[0])) > 0.3
pairs = zip(each(clipped_from[20]), each(clipped_from[0]), strict=True)
assert sum(first_ten < after for after, first_ten in pairs) >= 5
assert all(abs(after - first_ten) < 0.15 for after, first_ten in zip(lower[20], lower[0], strict=True))
reveal("03-10")

# %% [markdown]
r"""
「워밍업이 있으니 워밍업 동안에는 클리핑하지 않아도 된다」는 말은 여기서 맞지 않습니다. 시드 6개 가운데 5개에서 학습률이 다 올라가기도 전에 노름이 가장 크고, **그 몇 스텝에서 클리핑하느냐가 마지막 손실까지 가릅니다.** 정점이 0.003으로 낮으면 두 방식의 차이는 거의 없습니다. 잰 두 정점에서는 처음부터 클리핑해서 손해를 본 일이 없으니 `train_gpt`의 기본값은 처음부터 클리핑하는 것입니다. 널리 읽히는 코드의 방식은 `clip_after_warmup=True`로 고릅니다.

클리핑의 또 다른 몫은 튀는 배치입니다. 70번째 스텝의 배치 하나만 손실을 평균이 아니라 **합으로** 구했다고 하겠습니다. 토큰이 512개이므로 그레이디언트가 512배입니다. 02에서 본 모멘텀(momentum) SGD는 이럴 때 무너졌습니다. AdamW는 그레이디언트를 자기 크기로 나눕니다.

**예측 11.** AdamW로 학습하고, 클리핑하지 않습니다. 튀는 배치 다음에 어떻게 될까요?

- a: 크기를 나누므로 아무 일도 없습니다. 보통 배치처럼 지나갑니다.
- b: 가중치가 512배 움직여 NaN이 됩니다.
- c: 몇 배 길게 움직인 다음, 오랫동안 걸음이 짧아집니다.
"""

# %% tags=["predict"]
predict("03-11")


# %% tags=["folded"]
# 도구: 튀는 배치가 하나 있는 130스텝
def rogue_run(make_opt, peak, seed, *, rogue, clip_from):
    """스텝마다 움직인 거리와 50스텝 뒤의 검증 손실을 재고, 숫자 몇 개로 줄여 돌려줍니다."""
    model = make_gpt(seed)
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
    stream = batch_stream(short_train, seed)
    _, norms = train_with(rates, model, opt, stream, rogue=rogue, clip_from=clip_from, after=watch)
    usual = median(moves[50:70])
    return {
        "norm": norms[70],
        "leap": moves[70] / usual,
        "later": median(moves[110:]) / usual,
        "before": val_losses[69],
        "worst": max(loss for step, loss in val_losses.items() if step >= 70),
        "end": val_losses[129],
        "rms": moves[70] / peak / math.sqrt(len(place[0])),
        "curve": val_losses,
        "moves": moves,
    }


def momentum_sgd(params):
    return torch.optim.SGD(params, lr=1.0, momentum=0.9)


# %%
adam = torch.optim.AdamW
programs = {
    "AdamW, 튀는 배치 없음": (adam, 0.003, {"rogue": None, "clip_from": math.inf}),
    "AdamW, 클리핑 없음": (adam, 0.003, {"rogue": 70, "clip_from": math.inf}),
    "AdamW, 클리핑": (adam, 0.003, {"rogue": 70, "clip_from": 0}),
    "모멘텀 SGD, 클리핑 없음": (momentum_sgd, 0.3, {"rogue": 70, "clip_from": math.inf}),
    "모멘텀 SGD, 클리핑": (momentum_sgd, 0.3, {"rogue": 70, "clip_from": 0}),
}
rogue_runs = {}
for name, (make_opt, peak, settings) in programs.items():
    run = partial(rogue_run, make_opt, peak, **settings)
    rogue_runs[name] = six_seeds(f"rogue {name}", run, live=1)
    print(f"{name}: 그 스텝의 걸음은 보통의 {median(each(rogue_runs[name], 'leap')):.1f}배")

# %% tags=["folded"]
# 표와 그림: 튀는 배치 앞뒤의 걸음과 검증 손실, 시드 6개의 중앙값
rows, seen = [], {}
for name, runs in rogue_runs.items():
    keys = ("norm", "leap", "later", "before", "worst", "end")
    seen[name] = ours = {key: median(each(runs, key)) for key in keys}
    steps = [f"{ours[key]:.1f}배" if ours[key] < 1000 else "발산" for key in ("leap", "later")]
    losses = [f"{ours[key]:.2f}" if ours[key] < 20 else "발산" for key in ("before", "worst", "end")]
    rows.append([name, f"{ours['norm']:.0f}", *steps, *losses])
show_table(
    [
        "학습",
        "70번째 노름",
        "그 스텝의 걸음",
        "110번째부터의 걸음",
        "검증 손실 (직전)",
        "검증 손실 (최고)",
        "검증 손실 (끝)",
    ],
    rows,
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for name, color, style in [
    ("AdamW, 튀는 배치 없음", COLORS["muted"], ":"),
    ("AdamW, 클리핑 없음", COLORS["wrong"], "--"),
    ("AdamW, 클리핑", COLORS["right"], "-"),
]:
    run = rogue_runs[name][0]
    axes[0].plot(range(50, 130), run["moves"][50:], style, color=color, label=name.removeprefix("AdamW, "))
    axes[1].plot(run["curve"].keys(), run["curve"].values(), style, color=color)
axes[0].set(title="길게 갔다가, 오래 움츠러듭니다", xlabel="스텝", ylabel="움직인 거리", ylim=(0, None))
axes[1].set(title="봉우리 하나로 끝나지 않습니다", xlabel="스텝", ylabel="검증 손실")
axes[0].legend(loc="upper right")
show(
    figure,
    "시드 0입니다. 왼쪽: 클리핑하지 않으면 70번째 스텝에서 걸음이 세 배쯤으로 길어지고, 20스텝쯤 지나면 거꾸로 보통보다 짧아져 "
    "절반 아래까지 내려갑니다. 클리핑하면 튀는 배치가 없을 때와 비슷합니다. 오른쪽: 클리핑하지 않은 학습의 검증 손실은 3.3에서 4쯤으로 "
    "뛰었다가 천천히 내려옵니다.",
)
free, safe = rogue_runs["AdamW, 클리핑 없음"], rogue_runs["AdamW, 클리핑"]
# 튀는 배치는 m에 0.1, v에 0.001의 비율로 섞입니다. 보정은 둘을 각각 1 - 0.9ᵗ, 1 - 0.999ᵗ로 나눕니다
bound = 0.1 / math.sqrt(0.001 / (1 - 0.999**71))
print(f"튀는 스텝에서 가중치 하나가 움직인 양(RMS): 학습률의 {free[0]['rms']:.2f}배, 한도 {bound:.2f}배")
assert 3.1 < 0.1 / math.sqrt(0.001) < 3.2  # 스텝이 아주 많이 쌓인 뒤의 한도
assert all(0.8 * bound < rms < 1.01 * bound for rms in each(free, "rms"))
assert all(2.5 < leap < 4.5 for leap in each(free, "leap"))
assert all(later < 0.6 for later in each(free, "later"))
assert all(run["worst"] > run["before"] + 0.4 for run in free)
calm_ends = each(rogue_runs["AdamW, 튀는 배치 없음"], "end")
assert all(run["end"] > calm_end + 0.15 for run, calm_end in zip(free, calm_ends, strict=True))
assert all(leap < 1.5 for leap in each(safe, "leap"))
assert all(run["end"] < run["before"] for run in safe)
assert all(worst > 20 for worst in each(rogue_runs["모멘텀 SGD, 클리핑 없음"], "worst"))
assert all(run["end"] < run["before"] for run in rogue_runs["모멘텀 SGD, 클리핑"])
reveal("03-11")

# %% [markdown]
r"""
AdamW가 한 스텝에 갈 수 있는 거리에는 한도가 있습니다. 아무리 큰 그레이디언트도 $m$과 $v$에 함께 들어가 크기가 지워지기 때문입니다. 0부터 센 70번째 스텝, 곧 71번째 업데이트에서는 가중치 하나가 학습률의 0.8배쯤 움직입니다. 이 한도는 스텝이 쌓일수록 높아져 기본값에서는 학습률의 3.2배에 가까워집니다. 한도가 있으니 NaN이 되지는 않습니다. 대신 두 가지가 남습니다. $m$이 그 방향을 기억하는 동안 계속 그쪽으로 가고, $v$가 커진 동안 **보통 배치의 걸음이 짧아집니다.** 손실 곡선에 솟은 봉우리 하나로 끝나지 않습니다.

클리핑한 배치는 방향만 남기고 지나갑니다. 노름을 기록해 두면 튀는 배치가 언제 왔는지도 압니다. `clip_grad_norm_`은 줄이기 **전의** 노름을 돌려주므로 그 값을 적으면 됩니다.

$v$의 기억은 $\beta_2$가 정합니다. $v$에서 한 배치의 몫은 스텝마다 $\beta_2$배로 줄어듭니다. 37%로 줄기까지 기본값 0.999에서는 1,000스텝쯤, 언어 모델에서 많이 쓰는 0.95에서는 20스텝쯤 걸립니다. 그러면 0.95로는 20스텝 만에 잊을까요? 클리핑하지 않고 같은 튀는 배치를 넣은 다음, 튀는 배치가 없는 학습과 걸음의 길이를 비교합니다.
"""


# %%
def memory_run(beta2, seed):
    """튀는 배치가 지나간 뒤의 걸음이, 튀는 배치가 없는 학습의 몇 배인지 네 번 잽니다."""
    strides = {}
    for rogue in (70, None):
        model, path = make_gpt(seed), []
        opt = torch.optim.AdamW(model.parameters(), betas=(0.9, beta2))
        rates = climb_then("상수", peak=0.003, warmup=30, total=280)

        def keep_place(step, model=model, path=path):
            path.append(flat(model.parameters()))

        stream = batch_stream(short_train, seed)
        train_with(rates, model, opt, stream, clip_from=math.inf, rogue=rogue, after=keep_place)
        strides[rogue] = [(b - a).norm().item() for a, b in zip(path, path[1:], strict=False)]
    return {
        f"{at - 70}스텝 뒤": median(strides[70][at - 1 : at + 19]) / median(strides[None][at - 1 : at + 19])
        for at in (90, 110, 190, 260)
    }


memory = {0.999: six_seeds("memory beta2=0.999", partial(memory_run, 0.999), live=0)}
memory[0.95] = six_seeds("memory beta2=0.95", partial(memory_run, 0.95), live=1)

# %% tags=["folded"]
# 표와 확인: 튀는 배치가 지나간 뒤의 걸음. 시드 6개의 중앙값입니다
late_marks = [f"{late}스텝 뒤" for late in (20, 40, 120, 190)]
show_table(
    ["β₂", *late_marks],
    [
        [beta2, *(f"{median(each(runs, mark)):.2f}배" for mark in late_marks)]
        for beta2, runs in memory.items()
    ],
)
assert all(ratio < 0.7 for runs in memory.values() for ratio in each(runs, "20스텝 뒤"))
assert all(ratio < 0.55 for runs in memory.values() for ratio in each(runs, "40스텝 뒤"))
assert all(ratio < 0.5 for ratio in each(memory[0.999], "190스텝 뒤"))
assert all(ratio > 0.8 for ratio in each(memory[0.95], "190스텝 뒤"))
for beta2 in memory:
    steps = math.log((1 - beta2) * 512**2) / -math.log(beta2)
    print(
        f"β₂ = {beta2}: v에 섞인 튀는 배치의 몫이 보통 배치의 제곱만큼 작아지는 데 어림으로 {steps:,.0f}스텝"
    )
assert 0.35 < 0.999**1000 < 0.38
assert 0.35 < 0.95**20 < 0.38

# %% [markdown]
r"""
20스텝 뒤에도, 40스텝 뒤에도 두 $\beta_2$의 걸음은 비슷하게 짧습니다. 그레이디언트가 512배이면 제곱은 26만 배이고, $\beta_2$가 0.95이면 $v$에는 그 5%, 곧 보통 배치의 제곱의 1만 3천 배가 섞입니다. 이것이 보통 배치의 제곱만큼 작아지려면, 20스텝마다 37%로 줄어도 어림으로 185스텝이 걸립니다. 그래서 차이는 나중에 납니다. 190스텝 뒤에 0.95의 걸음은 거의 돌아오고, 0.999의 걸음은 그때도 절반이 안 됩니다. $\beta_2$를 줄이면 **더 빨리 잊지만 곧바로 잊지는 않습니다.** 튀는 배치를 막는 것은 클리핑의 몫입니다.

노름이 무한대나 NaN이면 어떻게 될까요? 노름이 무한대이면 줄이는 비율이 0이 되어, 무한대였던 곳은 NaN이, 나머지는 0이 됩니다. 노름이 NaN이면 비율도 NaN이라 모두 NaN이 됩니다. PyTorch는 따로 정하지 않으면 예외 없이 지나갑니다.
"""

# %%
spoiled = nn.Parameter(torch.zeros(3))
for bad, name in [(math.inf, "무한대가"), (math.nan, "NaN이")]:
    spoiled.grad = torch.tensor([1.0, bad, 2.0])
    clip_grad_norm_([spoiled], 1.0)
    print(f"{name} 하나 섞인 그레이디언트를 클리핑하면: {spoiled.grad.tolist()}")
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

약 25분 · ★★☆

`clip_grad_norm_` 없이 직접 만듭니다. 노름이 유한하지 않으면 그레이디언트를 **건드리기 전에** 멈춥니다.
"""


# %% tags=["exercise:clip_global_norm"]
def clip_global_norm(params, max_norm) -> float:
    """모든 그레이디언트를 합친 L2 노름이 max_norm을 넘으면, 같은 수를 곱해 제자리에서 줄입니다.

    줄이기 전의 노름을 float로 돌려줍니다. 넘지 않으면 그대로 둡니다. .grad가 None인 매개변수는 건너뜁니다.
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
### 가중치 감쇠는 어디에 걸까요

4절의 감쇠는 학습률을 줄이는 것이고, **가중치 감쇠**는 가중치를 줄이는 것입니다. 이름만 비슷합니다. AdamW는 스텝마다 가중치에 $1 - \text{학습률} \times \text{weight\_decay}$를 곱하고, 그레이디언트는 따로 적용합니다. 지금까지 AdamW로 한 학습은 모두 기본값 0.01을 모든 매개변수에 썼습니다.

많은 코드가 매개변수 그룹을 둘로 나누어 행렬에만 감쇠를 걸고, 편향과 LayerNorm에는 걸지 않습니다. LayerNorm의 배율은 1에서 출발하는데, 0 쪽으로 줄이면 계층의 출력이 통째로 작아집니다. 나눈 쪽과 나누지 않은 쪽을 180스텝씩 학습해 비교합니다. 학습 데이터에 한 번도 나오지 않는 글자의 임베딩도 함께 봅니다.
"""

# %%
unseen = sorted(set(range(len(alphabet))) - set(train_tokens.tolist()))


def decay_run(weight_decay, split, seed):
    """가중치 감쇠를 걸고 180스텝을 학습합니다. split이면 이름에 norm이나 bias가 든 것에는 걸지 않습니다."""
    model = make_gpt(seed)
    small = [p for name, p in model.named_parameters() if split and ("norm" in name or "bias" in name)]
    large = [p for p in model.parameters() if not any(p is other for other in small)]
    opt = torch.optim.AdamW([{"params": large, "weight_decay": weight_decay}])
    if small:
        opt.add_param_group({"params": small, "weight_decay": 0.0})
    before = model.character.weight[unseen].norm().item()
    rates = climb_then("코사인", peak=0.005, warmup=40, total=180)
    losses, _ = train_with(rates, model, opt, batch_stream(short_train, seed))
    val_loss = token_loss(model, short_val).item()
    gains = [module.weight for module in model.modules() if isinstance(module, nn.LayerNorm)]
    kept = model.character.weight[unseen].norm().item() / before
    return {"train": sum(losses[-10:]) / 10, "val": val_loss, "gain": flat(gains).mean().item(), "kept": kept}


decayed = {}
for weight_decay, split in [(0.0, False), (0.1, False), (0.1, True), (1.0, False), (1.0, True)]:
    run = partial(decay_run, weight_decay, split)
    key = f"decay {weight_decay} split={split}"
    decayed[weight_decay, split] = six_seeds(key, run, live=int(key == "decay 1.0 split=False"))

# %% tags=["folded"]
# 표와 확인: 감쇠를 거는 곳과 세기. 시드 6개의 중앙값입니다
names = {False: "모두", True: "norm과 bias를 뺀 나머지"}
show_table(
    ["weight_decay", "거는 곳", "학습 손실", "검증 손실", "LayerNorm 배율의 평균", "안 나온 글자의 임베딩"],
    [
        [
            weight_decay,
            names[split] if weight_decay else "없음",
            *(f"{median(each(runs, what)):.2f}" for what in ("train", "val", "gain")),
            f"처음의 {median(each(runs, 'kept')):.0%}",
        ]
        for (weight_decay, split), runs in decayed.items()
    ],
)
print(f"학습 데이터에 나오지 않는 글자: {len(unseen)}가지")


def raised(one, other, what):
    """시드마다 other가 one보다 얼마나 높은지입니다."""
    return [b[what] - a[what] for a, b in zip(decayed[one], decayed[other], strict=True)]


planned = climb_then("코사인", peak=0.005, warmup=40, total=180)
for (weight_decay, _), runs in decayed.items():
    left = math.prod(1 - rate * weight_decay for rate in planned)
    assert all(math.isclose(kept, left, rel_tol=1e-3) for kept in each(runs, "kept"))
assert all(0 < gap < 0.03 for gap in raised((0.1, True), (0.1, False), "train"))
assert all(0 < gap < 0.03 for gap in raised((0.0, False), (0.1, True), "train"))
assert all(abs(gap) < 0.01 for gap in raised((0.1, True), (0.1, False), "val"))
assert all(gap > 0.05 for gap in raised((1.0, True), (1.0, False), "train"))
assert all(gap > 0.01 for gap in raised((1.0, True), (1.0, False), "val"))
assert all(gain < 0.75 for gain in each(decayed[1.0, False], "gain"))
assert all(0.98 < gain < 1.05 for gain in each(decayed[1.0, True], "gain"))

# %% [markdown]
r"""
흔히 쓰는 0.1에서는 나누든 나누지 않든 학습 손실의 차이가 0.03보다 작고, 검증 손실은 구별할 수 없습니다. 180스텝은 감쇠가 쌓이기에 짧습니다. 1.0으로 열 배 키워야 차이가 보입니다. 모두에 걸면 LayerNorm의 배율이 0.67쯤까지 줄고, 시드 6개 모두 학습 손실도 검증 손실도 나눈 쪽보다 높습니다. 한편 이 짧은 학습에서 학습 손실이 가장 낮은 것은 감쇠하지 않은 쪽입니다. 그룹을 나누는 것은 손해를 줄이는 일이지, 감쇠가 이롭다는 증거가 아닙니다.

임베딩은 어느 쪽일까요? 학습에 나오지 않은 글자는 그레이디언트가 0인데도 감쇠만큼 줄어듭니다. 그래서 임베딩을 빼는 코드도 있습니다. 이 노트북은 **임베딩에도 겁니다.** 임베딩도 행렬이고, 출력 계층과 가중치를 함께 쓰는 모델에서는 둘을 가를 수 없기 때문입니다. nanoGPT도 차원이 둘 이상이면 모두 겁니다([nanoGPT의 `configure_optimizers`](https://github.com/karpathy/nanoGPT/blob/master/model.py)).

### 보너스 2. `weight_decay_groups`

약 25분 · ★★☆

위의 실험은 이름으로 골랐습니다. 이 모델에서만 맞는 방법입니다. 이번에는 이름에 기대지 않고, 어떤 모델이 와도 맞게 나눕니다. 차원이 둘 이상인 텐서에는 걸고, 나머지(편향, 정규화의 배율, 차원이 없는 스칼라)에는 걸지 않습니다. 임베딩에는 겁니다. 보는 것은 차원의 수뿐입니다. 행이 하나뿐인 행렬에도, `nn.LayerNorm((2, 3))`처럼 배율과 편향이 2차원인 정규화에도 겁니다. 옵티마이저에는 기본값이 있으니 걸지 않는 그룹에도 값을 적습니다.

빈 그룹은 넣지 않습니다. 그래서 모두 얼린 모델이면 빈 리스트입니다. 여러 곳에서 함께 쓰는 가중치는 한 번만 넣습니다. 두 번 넣으면 옵티마이저가 경고를 하거나 오류를 냅니다. 그룹 안의 순서를 `model.parameters()`와 같게 두는 까닭은 체크포인트에 있습니다. 옵티마이저의 `state_dict`는 매개변수를 이름이 아니라 순서로 찾습니다.

보너스 문제는 채점만 하고 점수에 넣지 않습니다. 힌트도 없습니다.
"""


# %% tags=["exercise:weight_decay_groups"]
def weight_decay_groups(model, weight_decay) -> list[dict]:
    """AdamW에 넘길 매개변수 그룹의 리스트를 돌려줍니다. 그룹은 "params"와 "weight_decay"가 있는 dict입니다.

    첫 그룹    차원이 둘 이상인 매개변수(임베딩도)입니다. weight_decay는 받은 값입니다. 0이어도 똑같이 나눕니다.
    둘째 그룹  나머지입니다. weight_decay는 0.0입니다.

    그룹 안의 순서는 model.parameters()의 순서입니다. 얼린(requires_grad가 거짓인) 매개변수는 어느 그룹에도 넣지 않습니다.
    여러 곳에서 함께 쓰는 매개변수는 한 번만 넣습니다. 빈 그룹은 빼므로 리스트의 길이는 0, 1, 2 가운데 하나입니다.
    """
    # BEGIN SOLUTION
    # model.parameters()는 함께 쓰는 가중치를 한 번만 줍니다
    trained = [param for param in model.parameters() if param.requires_grad]
    decaying = [param for param in trained if param.ndim >= 2]
    rest = [param for param in trained if param.ndim < 2]
    groups = [{"params": decaying, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
    # END SOLUTION


# %% tags=["check"]
check(weight_decay_groups)

# %% [markdown]
r"""
여기까지가 장치 하나하나입니다. 쉬어 가기 좋은 곳입니다. 다음 절부터는 워밍업, 감쇠, 클리핑을 함께 달고 더 오래 학습합니다.

## 6. 장치를 함께 달고 학습합니다

약 20분 · ★★☆

이제 조금 더 큰 모델을 처음부터 끝까지 학습합니다. 기록할 것은 세 가지입니다.

- **본 토큰의 수.** 배치 크기가 다르면 스텝 수로는 비교할 수 없습니다. 토큰 수로는 비교할 수 있습니다.
- **학습 손실과 검증 손실.** 몇 스텝마다 평가 모드(evaluation mode)에서 잽니다. 배치 손실은 드롭아웃(dropout)이 켜진 채로 잰 것이라 검증 손실과 나란히 놓을 수 없습니다.
- **에폭이 끝날 때마다 모델이 쓴 글.** 두 손실이 같아도 글은 다를 수 있습니다.

**예측 12.** 학습 데이터는 1만 5천 글자쯤입니다. 학습을 계속하면 검증 손실은 어떻게 될까요?

- a: 끝까지 내려갑니다.
- b: 내려가다가 중간에 다시 올라갑니다.
- c: 처음부터 올라갑니다.
"""

# %% tags=["predict"]
predict("03-12")

# %% tags=["folded"]
# 도구: 평가 모드로 재고, 에폭마다 글을 뽑는 기록
record = {"step": [], "train": [], "val": []}
diary = []


@torch.no_grad()
def evaluation(parts):
    model.eval()
    loss = token_loss(model, parts[:100]).item()
    model.train()
    return loss


def keep_diary(name, shown):
    diary.append((name, write(model, "국회는 ")))
    if shown:
        print(f"{name:>5}: {diary[-1][1]!r}")


def watch(step):
    if step % 20 == 0:
        record["step"].append(step)
        record["train"].append(evaluation(long_train))
        record["val"].append(evaluation(long_val))
    if (step + 1) % steps_per_epoch == 0:
        epoch = (step + 1) // steps_per_epoch
        keep_diary(f"{epoch}에폭", shown=epoch in (1, 2, 4, EPOCHS // 2, EPOCHS))


# %%
# GPU가 있으면 더 큰 모델을 더 오래 학습합니다. CPU에서는 1분을 넘지 않게 줄입니다
SIZES = {"width": 96, "depth": 2} if on_cpu else {"width": 128, "depth": 4}
EPOCHS = 14 if on_cpu else 30
long_train, long_val = windows(train_tokens, 64), windows(val_tokens, 64)
model = make_gpt(0, context=64, dropout=0.1, **SIZES)
steps_per_epoch = math.ceil(len(long_train) / 16)
total = steps_per_epoch * EPOCHS
warmup = round(0.05 * total)
main_rates = climb_then("코사인", peak=0.003, warmup=warmup, total=total)
opt = torch.optim.AdamW(model.parameters())
print(f"{device.type}: {EPOCHS}에폭, {total}스텝, 워밍업 {warmup}스텝")
keep_diary("학습 전", shown=True)
_, main_norms = train_with(main_rates, model, opt, batch_stream(long_train, 0), after=watch)

# %% tags=["folded"]
# 그림과 확인: 본 토큰에 따른 두 손실, 노름, 외운 조각의 길이
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
print(
    f"가장 낮은 검증 손실 {record['val'][turn]:.2f} (스텝 {record['step'][turn]}), 끝 {record['val'][-1]:.2f}"
)
print(f"학습 손실은 그사이 {record['train'][turn]:.2f}에서 {record['train'][-1]:.2f}로")
quarter = total // 4
print(
    f"노름의 중앙값: 학습의 25~50% 구간에서 {median(main_norms[quarter : 2 * quarter]):.2f}, 75~100% 구간에서 {median(main_norms[-quarter:]):.2f}"
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
assert sum(p.numel() for p in model.parameters()) < 1_000_000
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
else:  # 더 큰 모델은 30에폭이면 조문을 통째로 외웁니다
    assert copied[-1] > 20
reveal("03-12")

# %% [markdown]
r"""
글을 읽어 보세요. 학습 전에는 아무 글자나 나옵니다. 한두 에폭이면 띄어쓰기와 조사, 헌법에 나오는 낱말이 생깁니다. 끝 무렵에는 조 번호가 붙고 문장이 조문처럼 끝나지만, 아직 뜻이 이어지지는 않습니다. 1만 5천 글자로 배울 수 있는 것은 말투의 겉모습까지입니다. 그 뒤로도 글은 그럴듯해 보이는데 검증 손실은 나빠집니다. **그럴듯함은 외운 조각에서도 옵니다.** 사람이 읽고 고르면 과적합(overfitting)한 모델을 고르기 쉽습니다. 그래서 글과 함께 두 손실을 기록합니다.

노름도 볼 만합니다. 가장 높은 곳은 워밍업 안팎입니다. CPU용 크기로 학습하면 그 뒤에 다시 조금씩 커져서, 끝 무렵에는 스텝 대부분이 1을 넘어 클리핑됩니다. 이렇게 늘 걸리면 「튀는 배치만 줄인다」는 클리핑의 뜻은 사라집니다. 그래서 `max_norm`은 노름을 그려 보고 정합니다.

위에서는 두 손실을 언제나 같은 조각에서 쟀습니다. 많은 코드는, 그리고 연습 4의 `train_gpt`는, 학습 손실을 `train_loader`에서 앞 몇 배치를 꺼내 잽니다. 이 로더는 에폭마다 순서를 섞습니다.

**예측 13.** 평가를 더 자주 하면, 학습에 쓰는 배치의 순서가 바뀔까요?

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


rare, often = order_of_training(10), order_of_training(3)
same = [ours == theirs for ours, theirs in zip(rare, often, strict=True)]
for epoch, answer in enumerate(same, start=1):
    print(f"평가 주기를 바꾸어도 {epoch}에폭의 순서가 같을까요? {'예' if answer else '아니요'}")

# %% tags=["folded"]
# 확인: 두 에폭의 순서
assert same == [True, False]
reveal("03-13")

# %% [markdown]
r"""
평가 주기만 바꾼 두 학습이 다른 결과를 내면 이것부터 의심하세요. 두 학습을 비교하려면 평가에 쓸 배치를 따로 들고 있거나, 섞지 않는 로더를 하나 더 만듭니다.

### 연습 4. `train_gpt`

약 90분 · ★★★

지금까지의 장치를 루프 하나에 모읍니다. 쓰기 전에 순서를 소리 내어 읽어 보세요.

1. 시작할 때 **그룹마다 정점을 적어 둡니다.** 학습이 시작되면 `group["lr"]`은 정점이 아닙니다.
2. 스텝마다 학습률을 먼저 정하고, 그레이디언트를 지우고, 순전파(forward pass)하고, 역전파(backward pass)하고, 클리핑하고, 업데이트합니다.
3. 정한 스텝마다 평가 모드로 두 손실(앞 몇 배치의 손실을 그대로 평균한 것)을 재고, 본 토큰의 수를 적고, 학습 모드로 돌아옵니다.
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
다 썼으면 직접 쓴 `train_gpt`로 학습하고 기록을 그려 봅니다. 가로축은 아래가 본 토큰, 위가 에폭입니다. 아직 쓰지 않았다면 아무것도 그리지 않습니다.
"""


# %%
def pairs_of(parts):
    return [(part[:-1], part[1:]) for part in parts]


loaders = [
    DataLoader(pairs_of(parts), 16, shuffle=mix) for parts, mix in [(short_train, True), (short_val, False)]
]
model = make_gpt(0)
opt = torch.optim.AdamW(model.parameters(), lr=0.003)
try:
    history = train_gpt(
        model, *loaders, opt, device=device, n_epochs=3, eval_freq=10, eval_iter=5, warmup_steps=10
    )
except NotImplementedError:
    history = None
    print("연습 4와, 거기서 부르는 연습 2를 쓰고 나서 이 셀을 다시 실행하세요")

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
## 7. 길이가 다른 글을 누적합니다

약 25분 · ★★☆

01에서 크기가 다른 마이크로 배치(micro-batch)를 샘플 수로 가중하면 큰 배치와 같아진다고 했습니다. 이번에는 샘플이 헌법의 항입니다. 길이가 제각각이라, 한 배치에 담으려면 짧은 것의 뒤를 패딩(padding)으로 채워야 합니다. 패딩의 정답은 `ignore_index`(-100)로 두어 손실에서 뺍니다.

마이크로 배치 하나에 항이 둘, 구간 하나에 마이크로 배치가 넷입니다. 마이크로 배치마다 평균 손실을 구하고, 항의 수가 모두 같으니 똑같이 4로 나누어 더합니다. 곧 평균의 평균입니다.

**예측 14.** 평균의 평균으로 누적한 그레이디언트는, 여덟 항을 한 배치에 담은 그레이디언트와 얼마나 다를까요?

- a: 반올림 오차만큼
- b: 1%쯤
- c: 10%보다 많이
"""

# %% tags=["predict"]
predict("03-14")

# %% tags=["folded"]
# 도구: 항을 한 배치로 만들고, 몫을 곱해 누적합니다
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


# %%
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
assert 0.1 < median(errors) < 0.3
assert max(mended) < 1e-12
reveal("03-14")

# %% [markdown]
r"""
언어 모델에서는 샘플 수가 아니라 **토큰 수**로 가중해야 합니다. 여러 큰 라이브러리도 평균을 다시 평균했습니다. 2021년에 지적되었고, 2024년 10월에야 널리 알려져 고치기 시작했습니다([transformers#34191](https://github.com/huggingface/transformers/pull/34191)). 그해 12월 말에도 나누는 수를 바로잡는 수정이 이어졌습니다([transformers#35438](https://github.com/huggingface/transformers/pull/35438)).

틀린 것은 나누는 수입니다. 토큰 하나의 몫은 언제나 $1/(\text{구간 전체의 유효한 토큰 수})$여야 합니다. 마이크로 배치 안에서 평균을 내면 짧은 글의 토큰이 업데이트에 더 크게 반영됩니다.

학습 결과는 얼마나 달라질까요? 두 방법으로 같은 구간 120개를 학습합니다. 길이가 비슷한 항끼리 마이크로 배치로 묶습니다.

**예측 15.** 학습하며 기록한 손실, 곧 누적하면서 더한 값은 어느 쪽이 더 낮을까요?

- a: 평균을 다시 평균한 누적
- b: 토큰 수로 가중한 누적
- c: 거의 같습니다. 차이가 0.01을 넘지 않습니다.
"""

# %% tags=["predict"]
predict("03-15")


# %%
def clause_run(by_tokens, seed):
    """항을 여덟 개씩 누적해 120번 업데이트합니다."""
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
    return {"reported": sum(reported[-30:]) / 30, **clause_losses(model)}


# %% tags=["folded"]
# 표와 확인: 토큰 하나하나를 똑같이 센 손실을, 짧은 항 60개와 긴 항 60개에서 따로 잽니다
@torch.no_grad()
def clause_losses(model):
    ordered = sorted(clauses, key=len)
    parts = {"short": padded(ordered[:60]), "long": padded(ordered[-60:])}
    return {
        name: F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() for name, (x, y) in parts.items()
    }


clause_runs = {
    by_tokens: six_seeds(f"clauses by_tokens={by_tokens}", partial(clause_run, by_tokens), live=1)
    for by_tokens in (True, False)
}
show_table(
    ["나누는 수", "짧은 항 60개의 손실 (시드 6개)", "긴 항 60개의 손실", "학습하며 기록한 손실"],
    [
        [name, *(spelled(each(clause_runs[by_tokens], what)) for what in ("short", "long", "reported"))]
        for by_tokens, name in [(True, "구간의 유효한 토큰"), (False, "마이크로 배치마다 평균")]
    ],
)
fair, biased = clause_runs[True], clause_runs[False]
for right, wrong in zip(fair, biased, strict=True):
    assert wrong["short"] < right["short"] - 0.03
    assert wrong["long"] - wrong["short"] > right["long"] - right["short"] + 0.1
    assert max(wrong.values()) < 4  # 배우기는 배웁니다
assert median(each(biased, "long")) > median(each(fair, "long"))
assert median(each(biased, "reported")) < median(each(fair, "reported")) - 0.02
reveal("03-15")

# %% [markdown]
r"""
틀린 누적도 잘 배웁니다. **다른 문제를** 잘 배웁니다. 짧은 항에는 더 잘 맞고 긴 항에는 덜 맞습니다. 그런데 그 방식으로 기록한 학습 손실은 오히려 조금 더 낮습니다. 잘 맞춘 짧은 항을 크게 세기 때문입니다. 손실 곡선을 비교하면 틀린 쪽을 고르게 됩니다.

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

약 35분 · ★★★

구간 하나를 받아 한 번 업데이트합니다. 나누는 수를 알려면 역전파하기 전에 구간을 끝까지 보아야 합니다. `micro_batches`는 제너레이터일 수 있고, `ignore_index`는 -100이 아닐 수 있습니다.
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
## 8. 버그 찾기

약 25분 · ★★☆

널리 읽히는 글과 코드에 되풀이해 나오는 오류 네 개입니다. 코드는 모두 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

### 루프 1

워밍업이 끝나면 클리핑하려고 한 루프입니다. 워밍업이 30스텝이고, 30번째 스텝(0부터)에 튀는 배치가 옵니다. 어떻게 될까요?

- a: 클리핑됩니다. 워밍업은 29번째 스텝에서 끝났습니다.
- b: 클리핑되지 않습니다. 학습률은 정점입니다.
- c: 클리핑되지 않습니다. 그래도 학습률이 아직 낮아 괜찮습니다.
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
predict("03-bug1")

# %%
rates = climb_then("상수", peak=0.3, warmup=30, total=60)
ends = {}
for name, rogue in [("튀는 배치 없음", None), ("29번째", 29), ("30번째", 30), ("31번째", 31)]:
    model = make_gpt(0)
    loop_1(model, momentum_sgd(model.parameters()), batch_stream(short_train, 0), rates, 30, rogue)
    with torch.no_grad():
        loss = token_loss(model, short_val).item()
    ends[name] = loss if math.isfinite(loss) else math.inf

# %% tags=["folded"]
# 표와 확인: 튀는 배치가 온 스텝마다, 끝난 뒤의 검증 손실
show_table(
    ["튀는 배치가 온 스텝 (0부터)", "60스텝 뒤의 검증 손실"],
    [[name, f"{loss:.2f}" if loss < 20 else "발산"] for name, loss in ends.items()],
)
print(f"30번째 스텝의 학습률: {rates[30]} (정점 0.3)")
assert rates[30] == 0.3
assert ends["30번째"] > 20
assert ends["29번째"] > ends["튀는 배치 없음"] + 0.3
assert ends["31번째"] < ends["튀는 배치 없음"] + 0.3
reveal("03-bug1")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

스텝은 0부터 셉니다. 0번부터 29번까지 30스텝이 워밍업이고, 30번째가 정점입니다. 그 한 스텝만 클리핑되지 않고 빠져나갑니다. 평소에는 손실 곡선에 아무 흔적도 없습니다. 책에도 실렸다가 고쳐진 오류입니다([LLMs-from-scratch#427](https://github.com/rasbt/LLMs-from-scratch/pull/427)). `>=`로 고칩니다.

29번째에 온 튀는 배치는 `>=`로 고쳐도 클리핑되지 않습니다. 워밍업 동안에는 클리핑하지 않기로 한 루프이기 때문입니다. 5절에서 보았듯이 처음부터 클리핑하는 것이 낫습니다.

</details>

### 루프 2

코사인 감쇠를 쓴 함수입니다. 정점 1.0, 바닥 0.01, 전체 10스텝, 워밍업 4스텝입니다. 마지막 업데이트의 학습률은 얼마일까요?

- a: 0
- b: 0.01
- c: 0.01의 일곱 배쯤
"""


# %% tags=["find-the-bug"]
def loop_2_rate(step, warmup_steps, total_steps, peak_lr, min_lr):
    if step < warmup_steps:
        return peak_lr * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return min_lr + (peak_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


# %% tags=["predict"]
predict("03-bug2")

# %%
rows = []
for total_steps in [10, 100, 1000]:
    warmup_steps = round(0.4 * total_steps)
    ending = loop_2_rate(total_steps - 1, warmup_steps, total_steps, 1.0, 0.01)
    rows.append([total_steps, f"{ending:.5f}", f"{ending / 0.01:.2f}배"])
show_table(["전체 스텝", "마지막 업데이트의 학습률", "바닥 0.01의 몇 배"], rows)

# %% tags=["folded"]
# 확인: 전체 스텝 수에 따른 마지막 학습률
assert 0.07 < loop_2_rate(9, 4, 10, 1.0, 0.01) < 0.08
assert 0.01 < loop_2_rate(999, 400, 1000, 1.0, 0.01) < 0.0101
assert loop_2_rate(10, 4, 10, 1.0, 0.01) == 0.01
reveal("03-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

내리막의 칸 수는 `total_steps - warmup_steps`보다 하나 적습니다. 울타리 기둥이 열 개면 사이는 아홉 칸입니다. 1,000스텝이면 차이가 1%도 되지 않아 무시해도 됩니다. 10스텝이면 일곱 배가 넘습니다. 널리 읽히는 글의 코드는 한 스텝에 오르는 양을 미리 나눗셈으로 구해 두어서, 워밍업이 0이면 0으로 나누는 오류도 납니다.

어느 쪽으로 정해도 되지만 **문서에 적은 것과 같아야** 합니다. `lr_at`은 마지막 업데이트가 `min_lr`을 쓰기로 정했습니다.

</details>

### 루프 3

3에폭을 학습합니다. 3에폭째의 가장 높은 학습률은, 바르게 짠 루프의 3에폭째와 비교해 어떨까요?

- a: 훨씬 낮습니다.
- b: 같습니다.
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
predict("03-bug3")

# %%
found = loop_3(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.003), 40, 3, 1e-6)
planned = climb_then("코사인", peak=0.003, warmup=0, total=120)
ratios = [max(found[at : at + 40]) / max(planned[at : at + 40]) for at in (0, 40, 80)]
print("에폭마다 가장 높은 학습률의 비:", spelled(ratios))

# %% tags=["folded"]
# 그림과 확인: 두 학습률 곡선
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
assert ratios[0] == 1.0
assert ratios[2] < 0.3
assert torch.optim.AdamW([nn.Parameter(torch.zeros(1))]).param_groups[0]["lr"] == 1e-3
reveal("03-bug3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`group["lr"]`은 두 가지 뜻으로 쓰입니다. 학습이 시작되기 전에는 사람이 정한 정점이고, 시작된 다음에는 지금의 학습률입니다. 정점은 루프에 들어가기 전에 따로 적어 둡니다.

같은 일이 함수 밖에서도 일어납니다. 정점을 옵티마이저에서 읽는 학습 함수를 **같은 옵티마이저로 두 번** 부르면, 두 번째의 정점은 첫 번째가 남긴 `min_lr`입니다. 다시 부르기 전에 `group["lr"]`을 되돌려 놓습니다. 옵티마이저를 만들 때 `lr=`을 빠뜨려도 오류가 나지 않습니다. AdamW의 기본값 0.001이 정점이 됩니다.

</details>

### 루프 4

임베딩은 정점 0.0003으로 조심스럽게, 나머지는 정점 0.003으로 학습하려고 그룹을 나누었습니다. 옵티마이저의 첫 그룹은 나머지, 둘째 그룹은 임베딩입니다. 다섯 번째 스텝의 학습률은 정점의 절반이어야 합니다. 다섯 스텝 뒤에 임베딩의 학습률은 얼마일까요?

- a: 0.00015
- b: 0.0003
- c: 0.0015
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
predict("03-bug4")

# %%
model = make_gpt(0)
gentle = [model.character.weight, model.position.weight]
rest = [p for p in model.parameters() if not any(p is other for other in gentle)]
opt = torch.optim.AdamW([{"params": rest, "lr": 0.003}, {"params": gentle, "lr": 0.0003}])
loop_4(opt, lambda step, peak_lr: peak_lr * (step + 1) / 10, 5)
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

그룹이 하나일 때는 드러나지 않습니다. 계층마다 학습률을 다르게 하거나 미세 조정에서 출력 계층만 빨리 배우게 할 때 조용히 깨집니다. 5절에서 본 것처럼 가중치 감쇠 때문에 그룹을 나누는 코드도 많습니다. 정점을 **그룹마다** 적어 두고, 그룹마다 자기 정점으로 계산합니다. `LambdaLR` 같은 스케줄러(scheduler)는 그룹마다 적어 둔 `initial_lr`에 배율을 곱하므로 이 문제가 없습니다.

</details>

## 9. 화이트보드

약 15분 · ★★☆

위를 보지 말고 한 스텝을 씁니다. 학습률을 그룹마다 정하고, 다섯 줄을 쓰고, 클리핑합니다. `peaks`는 그룹마다의 정점이고, `rate_at(step, peak)`이 학습률을 줍니다. 다 쓴 다음 아래 두 셀을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""


# %% tags=["whiteboard"]
def step_from_memory(model, opt, peaks, rate_at, step, xb, yb, max_norm): ...


# %% tags=["folded"]
# 도구: 옵티마이저 없이 계산한 네 스텝과 비교합니다
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
    """네 스텝 뒤의 가중치를 손 계산과 비교합니다. 노름이 넘는 스텝과 넘지 않는 스텝이 섞여 있습니다."""
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
    return "움직이기는 했지만 손 계산과 다릅니다. 학습률은 언제 정하고, 클리핑은 어느 두 줄 사이에서 할까요?"


assert "움직이지 않았습니다" in grade_step(lambda *args: None)

# %%
print(grade_step(step_from_memory))

# %% [markdown]
r"""
## 정리

| 장치 | 하는 일 | 여기에서 재어 보니 |
|---|---|---|
| 워밍업 | 큰 걸음을 견디는 자리까지 낮은 학습률로 갑니다 | 정점이 높을 때만 이득이고, 낮으면 손해입니다. 정점을 낮추는 것도 방법입니다 |
| 감쇠 | 끝으로 갈수록 걸음을 줄입니다 | 학습 손실은 정점이 높을 때 낮아지고, 코사인과 직선은 거의 같습니다 |
| WSD | 정점에 머물다가 끝에서만 내립니다 | 전체 길이를 나중에 정해도 되고, 손실은 코사인만큼 내려갑니다 |
| 클리핑 | 그레이디언트의 노름이 `max_norm`을 넘지 않게 합니다 | 노름은 워밍업 안팎에서 가장 큽니다. 처음부터 켭니다 |
| 가중치 감쇠의 그룹 | 행렬에만 감쇠를 겁니다 | 0.1에서는 차이가 거의 없고, 1.0에서는 나눈 쪽의 손실이 낮습니다 |
| 평가와 기록 | 외우기 시작하는 곳을 알려 줍니다 | 글은 그럴듯해지는데 검증 손실은 돌아섭니다 |
| 토큰을 세는 누적 | 모든 토큰의 몫을 같게 합니다 | 평균의 평균은 짧은 글을 편듭니다 |

다섯 가지만 기억하세요.

1. 첫 손실은 $\ln(\text{글자 수})$여야 합니다. 아니면 시작하지 않습니다.
2. Adam의 첫 업데이트는 부호뿐입니다. 그레이디언트의 크기를 보지 않습니다.
3. 튀는 배치는 그레이디언트가 유한하면 AdamW를 NaN으로 만들지 않습니다. 대신 오래 기억됩니다.
4. 정점은 학습이 시작되기 전에 그룹마다 한 번 읽습니다.
5. 나누는 수는 구간 전체의 유효한 토큰 수 하나입니다.

며칠 뒤에 `clinic()`(터미널에서는 `grader clinic`)을 실행해 보세요. 한 스텝 어긋난 스케줄이나 잘못 나눈 누적처럼, 통과한 함수를 조금 고장 낸 코드를 고치며 복습합니다.

## 더 읽을거리

- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): 매개변수 그룹과 스케줄러
- [clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html): 돌려주는 값과 `error_if_nonfinite`
- [On the Variance of the Adaptive Learning Rate and Beyond](https://arxiv.org/abs/1908.03265): 워밍업이 필요한 까닭을, Adam이 처음에 정하는 걸음의 분산으로 설명한 논문(RAdam)
- [A Loss Curvature Perspective on Training Instability in Deep Learning](https://arxiv.org/abs/2110.04369), [Why Warmup the Learning Rate?](https://arxiv.org/abs/2406.09405): 같은 물음에 곡률로 답한 논문들
- [SGDR](https://arxiv.org/abs/1608.03983): 코사인 어닐링(cosine annealing)이 처음 나온 논문
- [On the difficulty of training recurrent neural networks](https://arxiv.org/abs/1211.5063): 노름으로 클리핑하기를 제안한 논문
- [transformers#34191](https://github.com/huggingface/transformers/pull/34191): 7절의 오류를 고친 변경

## 다음 노트북

**04 SAM과 그레이디언트 누적.** 평탄한 최솟값(flat minimum)을 찾아 한 스텝에 두 번 역전파하는 SAM을 만들고, 거기에 누적을 더합니다. 이번에 본 헌법으로 질문에 답하는 모델을 학습합니다.
"""
