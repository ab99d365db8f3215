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
# 학습 루프 해부

다섯 줄이면 학습(training)은 됩니다. 그런데 어제의 결과가 다시 나오지 않습니다. 밤새 돌린 학습이 NaN입니다. 가장 좋았던 모델을 열었는데 그 점수가 나오지 않습니다. 진지한 학습 루프(training loop)에는 이런 사고를 겪은 사람들이 붙인 여섯 부품이 있습니다.

| 부품 | 없을 때 답하지 못하는 물음 | 절 |
|---|---|---|
| 설정(config) | `best.pt`는 있는데, 학습률이 얼마였을까요? | 1 |
| 시드(seed) | 0.5%p 좋아진 것은 아이디어 덕일까요, 운일까요? | 2 |
| 혼합 정밀도(mixed precision) | 빨라졌는데, 같은 것을 배우고 있을까요? | 3 |
| 그레이디언트 클리핑(gradient clipping) | 어젯밤 손실이 한 번 치솟았는데, 모델은 무사할까요? | 4 |
| 스케줄(schedule) | 학습률을 언제 얼마나 바꾸어야 할까요? | 5 |
| 검증(validation)과 체크포인트(checkpoint) | 지금 저장된 파일은 어느 순간의 모델일까요? | 6, 7 |

이 노트북을 마치면 다음을 할 수 있습니다.

- 여섯 부품을 각각 짧은 함수로 쓰고, 하나로 조립합니다.
- 시드가 정하는 것과 정하지 못하는 것을 구별합니다.
- 스케일러가 스텝을 건너뛸 때 무슨 일이 일어나는지 말합니다.
- 중단한 학습을 이어 가고, 마지막 비트까지 같으려면 무엇을 더 저장해야 하는지 말합니다.
- 같은 학습을 Accelerate, Lightning, Trainer로 옮기고, 프레임워크가 대신 정한 것을 찾아냅니다.

**걸리는 시간.** 본문을 읽고 예측하고 실행하는 데 3시간 반쯤, 연습 문제 아홉 개에 4시간 반쯤, 모두 8시간쯤입니다. 그래서 두 번에 나눕니다. **첫째 날**은 1절부터 5절까지(4시간쯤), **둘째 날**은 6절부터 11절까지(4시간 반쯤)입니다. 점수에 들어가지 않는 보너스 2개(1시간 10분)는 따로입니다. 절과 연습 문제마다 걸리는 시간과 난이도(★)를 적었습니다. 모두 처음 배우는 사람을 기준으로 어림한 값이니, 더 걸려도 이상하지 않습니다. 비슷한 코드를 써 보았다면 연습은 그 절반이면 됩니다.

01과 같은 방법으로 씁니다. 예측을 먼저 고르고 실험을 실행합니다. 연습 문제를 풀고 `check(...)`를 실행합니다. 막히면 `hint("amp_step")`처럼 힌트를 봅니다. 본문의 수치는 여기에서 재고, 결론은 `assert`로 확인합니다. 표와 그림을 그리는 코드는 접어 두었습니다. 펼쳐서 읽어도 좋습니다.

아래의 접힌 셀은 필요한 것을 불러오고, 손글씨 숫자 데이터를 준비합니다.
"""

# %% tags=["folded"]
# 준비: import, 데이터, 여러 실험이 함께 쓰는 짧은 함수들
import copy
import importlib.util
import inspect
import io
import logging
import math
import os
import random
import sys
import tempfile
import time
import tomllib
import warnings
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, OneCycleLR, SequentialLR, StepLR
from torch.utils.data import DataLoader, Dataset, TensorDataset, get_worker_info

from grader import check, clinic, hint, microscope, predict, reveal
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
warnings.filterwarnings("ignore", message="IProgress not found")  # 진행 막대 위젯은 쓰지 않습니다
torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"  # 비트까지 같다는 주장은 CPU에서만 확인합니다
scratch = tempfile.TemporaryDirectory(prefix="hanstep-")  # 체크포인트를 두는 곳입니다. 끝나면 지워집니다
folder = Path(scratch.name)

# scikit-learn에 들어 있는 8×8 손글씨 숫자 1,797장입니다. 내려받지 않습니다
images, labels = load_digits(return_X_y=True)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
images = torch.tensor(images, dtype=torch.float32)[order].to(device) / 16
labels = torch.tensor(labels)[order].to(device)
x_train, y_train = images[:1437], labels[:1437]
x_val, y_val = images[1437:], labels[1437:]
loss_fn = nn.CrossEntropyLoss()
# GPU의 드롭아웃은 GPU의 난수를 따로 씁니다. 난수를 재는 2절의 실험은 어디에서나 CPU에서 합니다
x_train_cpu, y_train_cpu, x_val_cpu = x_train.cpu(), y_train.cpu(), x_val.cpu()


def make_model(seed, *, hidden=64, dropout=0.0):
    """64 → hidden → 10 분류기입니다."""
    torch.manual_seed(seed)
    layers = [nn.Linear(64, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, 10)]
    return nn.Sequential(*layers).to(device)


def make_batches(seed, batch_size=32, epochs=1):
    """학습 데이터를 섞어 미니 배치로 나눈 리스트입니다."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(epochs):
        for rows in torch.randperm(len(x_train), generator=generator).split(batch_size):
            batches.append((x_train[rows.to(device)], y_train[rows.to(device)]))
    return batches


def flat(tensors):
    """텐서 여러 개를 한 줄로 이어 복사합니다. 두 모델을 한 번에 비교할 때 씁니다."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).double()


def apart(first, second):
    """두 가중치가 가장 많이 다른 곳의 차이입니다."""
    return (first - second).abs().max().item()


@torch.no_grad()
def accuracy(model):
    return (model(x_val).argmax(dim=1) == y_val).float().mean().item()


print(f"PyTorch {torch.__version__}, {device}, 학습 {len(x_train)}장, 검증 {len(x_val)}장")

# %% [markdown]
r"""
## 1. 설정: 이 모델은 무엇으로 학습했을까요

약 10분 · ★☆☆

학습률(learning rate) 같은 하이퍼파라미터(hyperparameter)를 코드 곳곳에 적어 두면, 석 달 뒤에 `best.pt`를 열었을 때 그 모델을 다시 만들 방법이 없습니다. 그래서 한 객체에 모으고, **체크포인트마다 함께 저장합니다.**

**예측 1.** 에폭(epoch)마다 `cfg.lr *= 0.5`로 학습률을 낮추고, 끝에 `cfg`를 저장하는 루프가 있습니다. 저장된 설정으로 처음부터 다시 학습하면 어떻게 될까요? 시드와 데이터는 같습니다.

- a: 다른 가중치(weight)가 나옵니다. 오류는 없습니다.
- b: 같은 가중치가 나옵니다. 시드와 데이터가 같습니다.
- c: 오류로 멈춥니다.
"""

# %% tags=["predict"]
predict("02-1")


# %%
@dataclass
class LooseConfig:
    lr: float = 0.4
    epochs: int = 3
    seed: int = 0


def run_from(cfg):
    """설정 하나로 처음부터 학습합니다. 에폭마다 학습률을 절반으로 낮춥니다."""
    model = make_model(cfg.seed)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for xb, yb in make_batches(seed=epoch):
            opt.zero_grad()
            loss_fn(model(xb), yb).backward()
            opt.step()
        cfg.lr *= 0.5
        opt.param_groups[0]["lr"] = cfg.lr
    return flat(model.parameters())


# %%
cfg = LooseConfig()
trained = run_from(cfg)
saved = asdict(cfg)
again = run_from(LooseConfig(**saved))
repeated = run_from(LooseConfig())
print("저장된 설정:", saved)
print(f"저장된 설정으로 다시 학습: 최대 차이 {apart(trained, again):.2f}")
print(f"처음 설정으로 다시 학습:   최대 차이 {apart(trained, repeated):.2f}")

# %% tags=["folded"]
# 확인: 저장된 설정과 세 번 학습한 가중치
assert saved["lr"] == 0.05
assert apart(trained, again) > 0.1
assert apart(trained, repeated) == 0.0 if on_cpu else apart(trained, repeated) < 1e-3
reveal("02-1")

# %% [markdown]
r"""
그래서 설정 객체는 세 가지를 지켜야 합니다.

1. 한번 만들면 바뀌지 않습니다.
2. 모르는 이름과 말이 안 되는 값을 받지 않습니다.
3. 저장할 때는 숫자와 문자열만 남습니다.

`@dataclass(frozen=True)`는 `cfg.lr *= 0.5`라고 적은 그 줄에서 오류를 내 막아 줍니다. 값을 바꾼 설정이 필요하면 `replace`로 새로 만듭니다. 사람이 고른 **처음 학습률**은 설정이고, 스케줄러가 스텝마다 바꾸는 **지금 학습률**은 옵티마이저(optimizer)의 `param_groups`에 있는 상태입니다. 이름은 같아도 저장하는 곳이 다릅니다.
"""


# %%
@dataclass(frozen=True)
class RunConfig:
    """이 노트북의 실험에 쓰는 설정입니다. 연습 문제에서는 더 엄격한 것을 만듭니다."""

    lr: float = 0.01
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 14
    total_steps: int = 135
    max_norm: float = 1.0
    seed: int = 0


cfg = RunConfig(lr=0.4)
try:
    cfg.lr *= 0.5
    frozen_error = None
except FrozenInstanceError as error:
    frozen_error = str(error)
print("바꾸려고 하면:", frozen_error)
print("바꾼 복사본:", replace(cfg, lr=0.2).lr, "원래 것:", cfg.lr)

# %% [markdown]
r"""
설정 파일의 오타도 조용히 지나갑니다. dict에서 `get`으로 꺼내면 잘못 쓴 이름은 없는 것이 되고, 기본값으로 학습합니다.
"""

# %%
assert frozen_error is not None
assert cfg.lr == 0.4

file_text = """
lr = 0.1
wramup_steps = 500
"""
values = tomllib.loads(file_text)
print("파일의 오타:", list(values)[1], "→ get으로 꺼낸 워밍업 스텝:", values.get("warmup_steps", 14))
assert values.get("warmup_steps", 14) == 14  # 500을 원했습니다

# %% [markdown]
r"""
### 연습 1. `TrainConfig`

약 25분 · ★☆☆

바뀌지 않는 dataclass를 완성합니다. 말이 안 되는 값은 `__post_init__`에서 막고, TOML 파일의 모르는 키는 **그 이름을 알려 주며** 거절합니다. `to_dict()`는 체크포인트에 넣을 dict를 만듭니다. 왜 객체를 그대로 저장하지 않는지는 10절의 루프 5에서 봅니다.
"""


# %% tags=["exercise:TrainConfig"]
@dataclass(frozen=True)  # SOLUTION
class TrainConfig:
    """학습 한 번을 정하는 값을 모두 담습니다. 한번 만들면 바꿀 수 없습니다."""

    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None  # "bfloat16", "float16", 또는 None(float32)
    seed: int = 0

    def __post_init__(self):
        """lr ≤ 0, epochs < 1, batch_size < 1, warmup_steps > total_steps이면 ValueError를 냅니다."""
        # BEGIN SOLUTION
        # 몇 시간 뒤가 아니라 지금 알립니다
        if self.lr <= 0:
            raise ValueError(f"lr은 0보다 커야 합니다: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs는 1 이상이어야 합니다: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size는 1 이상이어야 합니다: {self.batch_size}")
        if self.warmup_steps > self.total_steps:
            raise ValueError(f"warmup_steps({self.warmup_steps})가 total_steps보다 큽니다")
        # END SOLUTION

    @classmethod
    def from_toml(cls, path):
        """TOML 파일에서 읽습니다. 파일에 없는 값은 기본값입니다. 모르는 키가 있으면 그 이름을 담은 ValueError를 냅니다."""
        # BEGIN SOLUTION
        with open(path, "rb") as file:
            values = tomllib.load(file)
        # 오타를 그냥 넘기면 기본값으로 학습하게 됩니다
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"모르는 설정입니다: {', '.join(unknown)}")
        return cls(**values)
        # END SOLUTION

    def to_dict(self):
        """숫자, 문자열, None만 담은 dict로 바꿉니다. 체크포인트에는 이 dict를 넣습니다."""
        # BEGIN SOLUTION
        return asdict(self)
        # END SOLUTION


# %% tags=["check"]
check(TrainConfig)

# %% [markdown]
r"""
## 2. 시드: 무엇이 같아지고 무엇이 같아지지 않을까요

약 20분 · ★★☆

시드를 정하지 않으면 두 실행을 비교할 수 없습니다. 먼저 시드만 바꾸었을 때 결과가 얼마나 흔들리는지 봅니다.
"""


# %%
def plain_run(seed, epochs=5):
    """시드 하나로 학습한 손실 곡선과 검증 정확도입니다."""
    model = make_model(seed)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    curve = []
    for xb, yb in make_batches(seed, epochs=epochs):
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        curve.append(loss.item())
    return curve, accuracy(model)


runs = [plain_run(seed) for seed in range(12)]
twin, _ = plain_run(0)
scores = [100 * score for _, score in runs]
print(f"시드 12개의 검증 정확도: {min(scores):.1f}% ~ {max(scores):.1f}%, 중앙값 {median(scores):.1f}%")

# %% tags=["folded"]
# 그림과 확인: 같은 시드의 두 곡선, 시드마다의 정확도
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), width_ratios=[2, 1])
axes[0].plot(runs[0][0][:60], color=COLORS["right"], linewidth=4, alpha=0.5, label="시드 0")
axes[0].plot(twin[:60], color=COLORS["right"], linestyle="--", label="시드 0, 한 번 더")
axes[0].plot(runs[1][0][:60], color=COLORS["wrong"], label="시드 1")
axes[0].set(title="같은 시드는 겹칩니다", xlabel="스텝", ylabel="배치 손실")
axes[0].legend()
axes[1].plot(scores, range(12), "o", color=COLORS["third"])
axes[1].set(title="시드만 바꾼 12번", xlabel="검증 정확도 (%)", ylabel="시드")
axes[1].set_yticks(range(0, 12, 2))
show(
    figure,
    "왼쪽: 시드 0으로 두 번 학습한 손실 곡선은 완전히 겹치고, 시드 1의 곡선은 다르게 흔들립니다. "
    "오른쪽: 시드만 바꾼 12번의 검증 정확도가 몇 %p에 걸쳐 흩어져 있습니다.",
)
assert twin == runs[0][0] if on_cpu else np.allclose(twin, runs[0][0], atol=1e-3)
assert max(scores) - min(scores) > 2.0  # 검증 360장이므로 한 장이 0.28%p입니다
# %% [markdown]
r"""
**시드만 바꾸어도 2%p 넘게 흔들립니다.** 시드 하나로 얻은 0.5%p는 근거가 되지 못합니다. 시드를 정하는 목적은 좋은 시드를 찾는 것이 아닙니다. 한 가지만 바꾼 두 실행에서 나머지를 똑같이 두는 것입니다.

**예측 2.** 시드를 맨 위에 한 번 정한 루프가 있습니다. 에폭 끝마다 검증을 **더했습니다.** 검증 로더는 섞지 않고, 검증은 평가 모드(evaluation mode)와 `no_grad()` 안에서 합니다. 학습한 가중치는 검증을 더하기 전과 같을까요?

- a: 같습니다. 검증은 가중치를 읽기만 합니다.
- b: 드롭아웃(dropout)이 있는 모델만 다릅니다.
- c: 드롭아웃이 없는 모델도 다릅니다.
"""

# %% tags=["predict"]
predict("02-2")


# %%
def seeded_run(*, dropout=0.2, seed_first=True, validate=False, train_generator=None, val_generator=None):
    """두 에폭 학습하고 (배치 순서, 마지막 가중치)를 돌려줍니다. 시드는 언제나 0입니다."""
    if seed_first:
        torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Dropout(dropout), nn.Linear(32, 10))
    if not seed_first:
        torch.manual_seed(0)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    train_loader = DataLoader(range(len(x_train)), 32, shuffle=True, generator=train_generator)
    val_loader = DataLoader(range(len(x_val)), 512, generator=val_generator)
    seen = []
    for epoch in range(2):
        model.train()
        for rows in train_loader:
            seen += rows.tolist()
            opt.zero_grad()
            loss_fn(model(x_train_cpu[rows]), y_train_cpu[rows]).backward()
            opt.step()
        if validate:
            model.eval()
            with torch.no_grad():
                for rows in val_loader:
                    model(x_val_cpu[rows])
    return seen, flat(model.parameters())


# %%
def own():
    """로더 하나만 쓰는 제너레이터(generator)입니다."""
    return torch.Generator().manual_seed(0)


plain = seeded_run()
undropped = seeded_run(dropout=0.0)
isolated = seeded_run(train_generator=own())
cases = {
    "한 번 더 실행": (plain, seeded_run()),
    "모델을 만든 다음에 시드를 정함": (plain, seeded_run(seed_first=False)),
    "검증을 더함": (plain, seeded_run(validate=True)),
    "검증을 더함, 드롭아웃 없음": (undropped, seeded_run(dropout=0.0, validate=True)),
    "검증을 더함, 학습 로더에 제너레이터": (isolated, seeded_run(validate=True, train_generator=own())),
    "검증을 더함, 검증 로더에 제너레이터": (plain, seeded_run(validate=True, val_generator=own())),
}

# %% tags=["folded"]
# 표와 확인: 배치 순서와 마지막 가중치를 비교합니다
same_order = {name: before[0] == after[0] for name, (before, after) in cases.items()}
distance = {name: apart(before[1], after[1]) for name, (before, after) in cases.items()}
show_table(
    ["달라진 것", "배치 순서", "가중치의 최대 차이"],
    [[name, "같음" if same_order[name] else "다름", f"{distance[name]:.3f}"] for name in cases],
)

# 로더를 돌기 시작하는 것만으로 전역 난수의 상태가 바뀝니다
state = torch.get_rng_state()
next(iter(DataLoader(range(4))))
assert not torch.equal(state, torch.get_rng_state())

assert list(same_order.values()) == [True, False, False, False, True, True]
for name in ["한 번 더 실행", "검증을 더함, 검증 로더에 제너레이터"]:
    assert distance[name] == 0.0
for name in set(cases) - {"한 번 더 실행", "검증을 더함, 검증 로더에 제너레이터"}:
    assert distance[name] > 0.01
reveal("02-2")

# %% [markdown]
r"""
전역 난수는 모두가 한 줄로 서서 뽑는 번호표입니다. 한 군데에서 한 장 더 뽑으면 뒤가 모두 밀립니다. 섞지 않는 로더도 돌기 시작할 때 한 장을 뽑습니다. 로더에 `generator=`를 따로 주면 **배치 순서는** 지켜집니다. 드롭아웃은 여전히 전역 난수를 씁니다. 그래서 다섯째 줄은 순서가 같은데 가중치가 다릅니다. 여섯째 줄처럼 **검증 로더에** 제너레이터를 따로 주면 검증이 전역 난수를 뽑지 않으므로, 드롭아웃이 있어도 가중치까지 같습니다.

시드를 모델보다 **늦게** 정하면 초기 가중치가 실행마다 달라집니다. 시드는 맨 위에서 정합니다.

### 작업자가 여럿일 때

「`num_workers`를 쓰면 NumPy 시드가 작업자마다 같아지므로 `worker_init_fn`을 꼭 써야 한다.」 널리 퍼진 조언입니다. 어떤 데이터셋에 필요한 조언인지 재 봅니다.

**예측 3.** 작업자가 둘입니다. 데이터셋이 샘플마다 난수를 하나 뽑습니다(데이터 증강을 흉내 냅니다). 두 작업자가 **같은 난수를 되풀이하는** 것은 어느 쪽일까요?

- a: 전역 `np.random`을 쓰는 데이터셋
- b: `np.random.default_rng(0)`를 들고 있는 데이터셋
- c: 둘 다
"""

# %% tags=["predict"]
predict("02-3")


# %%
class GlobalNoise(Dataset):
    """샘플마다 전역 np.random에서 뽑습니다."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return np.random.rand()


class OwnNoise(Dataset):
    """제너레이터를 하나 만들어 들고 있습니다."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.rng.random()


# %%
def reseed(worker_id):
    """작업자마다, 에폭마다 다른 시드로 제너레이터를 다시 만듭니다. 시드는 DataLoader가 정해 두었습니다."""
    info = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def two_epochs(dataset, **settings):
    """작업자 둘로 두 에폭을 돌며 뽑은 난수 16개입니다."""
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(
        dataset, 2, num_workers=2, generator=generator, multiprocessing_context="fork", **settings
    )
    return [value for epoch in range(2) for batch in loader for value in batch.tolist()]


# %% tags=["folded"]
# 표와 확인: 난수 16개 가운데 서로 다른 것의 수입니다. 작업자를 fork로 만드는 리눅스에서만 잽니다
if sys.platform == "linux":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 새 파이썬은 fork를 권하지 않습니다
        draws = {
            "전역 np.random": two_epochs(GlobalNoise()),
            "들고 있는 default_rng": two_epochs(OwnNoise()),
            "들고 있는 default_rng + worker_init_fn": two_epochs(OwnNoise(), worker_init_fn=reseed),
        }
    distinct = {name: len({round(value, 9) for value in values}) for name, values in draws.items()}
    show_table(
        ["데이터셋", "16번 뽑은 난수 가운데 서로 다른 것", "첫 에폭"],
        [
            [name, distinct[name], " ".join(f"{value:.2f}" for value in values[:8])]
            for name, values in draws.items()
        ],
    )
    assert list(distinct.values()) == [16, 4, 16]
else:
    print("작업자를 fork로 만드는 실험은 리눅스에서만 합니다. 아래는 리눅스에서 잰 답입니다.")
reveal("02-3")

# %% [markdown]
r"""
들고 있는 제너레이터는 작업자를 fork(실행 중인 프로세스를 통째로 복사하는 방법)로 만들 때 두 작업자에게 똑같이 복사되고, 다음 에폭에는 처음부터 다시 복사됩니다. 그래서 16번 뽑아도 서로 다른 것은 네 개뿐입니다. 증강이 4분의 1로 줄었는데 오류는 없습니다. `worker_init_fn`에서 `info.seed`로 다시 만들면 됩니다. 전역 `np.random`의 문제는 PyTorch 1.9에서 고쳐졌습니다([pytorch#5059](https://github.com/pytorch/pytorch/issues/5059), [#56488](https://github.com/pytorch/pytorch/pull/56488)).

시드가 정하지 **못하는** 것도 있습니다. 스레드 수, GPU의 종류, 라이브러리의 버전이 바뀌면 더하는 순서가 바뀔 수 있습니다.
"""

# %%
numbers = torch.rand(20, 300_000, generator=torch.Generator().manual_seed(0))
sums = {}
for threads in [1, 2]:
    torch.set_num_threads(threads)
    sums[threads] = torch.stack([row.sum() for row in numbers])
torch.set_num_threads(1)
unequal = (sums[1] != sums[2]).sum().item()
print(f"30만 개의 합 20개 가운데, 스레드 1개와 2개의 결과가 비트까지 같지는 않은 것: {unequal}개")
assert torch.allclose(sums[1], sums[2], rtol=1e-5)  # 거의 같지만, 비트까지 같다는 보장은 없습니다

# 시드를 주지 않은 제너레이터는 언제나 같은 시드로 시작합니다
assert torch.Generator().initial_seed() == torch.Generator().initial_seed()

# %% [markdown]
r"""
GPU에서는 같은 기계, 같은 시드로도 순서가 달라지는 연산이 있습니다. `torch.use_deterministic_algorithms(True)`가 그런 연산을 결정적인 것으로 바꾸거나 오류로 알려 줍니다. 대신 느려질 수 있습니다.

### 연습 2. `seed_everything`

약 15분 · ★☆☆

`random`, `numpy`, `torch`의 시드를 정하고, `DataLoader`에 넘길 제너레이터를 만들어 돌려줍니다. 제너레이터의 시드도 정해야 합니다. 새로 만든 `torch.Generator()`의 시드는 언제나 같은 기본값이어서, 시드를 바꾸어도 배치 순서가 바뀌지 않습니다.
"""


# %% tags=["exercise:seed_everything"]
def seed_everything(seed) -> torch.Generator:
    """random, numpy, torch의 시드를 정하고, DataLoader에 넘길 torch.Generator를 같은 시드로 만들어 돌려줍니다."""
    # BEGIN SOLUTION
    random.seed(seed)
    np.random.seed(seed)
    # CPU와 모든 GPU의 시드를 함께 정합니다
    torch.manual_seed(seed)
    # 섞는 순서는 따로 둡니다. 드롭아웃을 하나 더해도 배치 순서가 바뀌지 않습니다
    return torch.Generator().manual_seed(seed)
    # END SOLUTION


# %% tags=["check"]
check(seed_everything)

# %% [markdown]
r"""
## 3. 혼합 정밀도: 16비트로 계산하고 32비트로 업데이트합니다

약 25분 · ★★★

16비트 텐서는 메모리를 절반만 씁니다. 요즘 GPU에는 16비트 행렬 곱을 위한 회로가 따로 있어 행렬 곱이 훨씬 빠릅니다(GPU가 있으면 아래에서 잽니다). 다만 스텝 전체가 그만큼 빨라지지는 않습니다. H100에서 float32를 bfloat16으로 바꾸니 4096 × 4096 행렬 곱은 2.7 ms에서 0.2 ms로 줄었지만, 6층 트랜스포머의 한 스텝은 29 ms에서 20 ms로 줄어드는 데 그쳤습니다. 업데이트는 그대로 32비트이고, 행렬 곱이 아닌 계산은 그만큼 빨라지지 않기 때문입니다. 16비트 자료형은 두 가지이고, 비트를 범위와 정밀도에 나누는 방법이 다릅니다.
"""

# %% tags=["folded"]
# 표와 확인: 세 자료형의 범위와 간격입니다. GPU가 있으면 행렬 곱의 시간도 잽니다
rows = []
for dtype in [torch.float32, torch.float16, torch.bfloat16]:
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps  # 비정규 수까지 셉니다
    rows.append([dtype, f"{info.max:.1e}", f"{smallest:.1e}", f"{info.eps:.1e}"])
show_table(["자료형", "가장 큰 값", "0이 아닌 가장 작은 값", "1 다음 수와의 간격"], rows)
assert torch.finfo(torch.float16).max == 65504
assert torch.finfo(torch.bfloat16).eps == 8 * torch.finfo(torch.float16).eps
assert torch.bfloat16.itemsize * 2 == torch.float32.itemsize
if not on_cpu:
    for dtype in [torch.float32, torch.bfloat16]:
        square = torch.randn(4096, 4096, device=device, dtype=dtype)
        square @ square  # 처음 한 번은 준비하느라 느립니다
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            square @ square
        torch.cuda.synchronize()
        print(f"4096 × 4096 행렬 곱, {dtype}: {100 * (time.perf_counter() - begin):.2f} ms")

# %%
model = make_model(seed=3)
xb, yb = make_batches(seed=3)[0]
with torch.autocast(device.type, torch.bfloat16):
    logits = model(xb)
    loss = loss_fn(logits, yb)
loss.backward()
kinds = {"가중치": model[0].weight, "로짓": logits, "손실": loss, "그레이디언트": model[0].weight.grad}
print({name: str(tensor.dtype).removeprefix("torch.") for name, tensor in kinds.items()})
assert logits.dtype is torch.bfloat16
assert {kinds[name].dtype for name in ("가중치", "손실", "그레이디언트")} == {torch.float32}

# %% [markdown]
r"""
float16은 **정밀하지만 좁고**, bfloat16은 **거칠지만 넓습니다**. bfloat16의 범위는 float32와 거의 같습니다.

`torch.autocast` 블록은 가중치를 바꾸지 않습니다. 행렬 곱을 할 때 16비트 복사본을 만들어 계산합니다. 그래서 로짓(logits)은 16비트이고, 손실(loss)과 가중치의 그레이디언트(gradient)와 업데이트는 32비트입니다. 블록은 순전파(forward pass)와 손실까지만 감쌉니다. 역전파(backward pass)는 순전파가 쓴 정밀도를 알아서 따라갑니다.

**예측 4.** 계층(layer) 24개짜리 모델의 그레이디언트를 float16 autocast로 구합니다. 손실에 아무것도 곱하지 않습니다. 가장 앞 계층의 그레이디언트를 float32로 구한 것과 비교하면 어떨까요?

- a: inf입니다. 24개 계층을 거치며 커집니다.
- b: 1%쯤 부정확합니다.
- c: 거의 모두 0입니다.
"""

# %% tags=["predict"]
predict("02-4")


# %%
def deep_gradients(dtype, scale, seed=0):
    """계층 24개짜리 모델의 계층마다의 가중치 그레이디언트입니다. 손실에 scale을 곱했다가 되돌립니다."""
    torch.manual_seed(seed)
    layers = [layer for _ in range(23) for layer in (nn.Linear(64, 64), nn.Tanh())]
    model = nn.Sequential(*layers, nn.Linear(64, 10)).to(device)
    with torch.autocast(device.type, dtype, enabled=dtype is not torch.float32):
        loss = loss_fn(model(x_train[:256]), y_train[:256])
    (loss * scale).backward()
    return [layer.weight.grad / scale for layer in model if isinstance(layer, nn.Linear)]


exact = deep_gradients(torch.float32, 1)
attempts = {
    "float16": (deep_gradients(torch.float16, 1), "wrong", "-"),
    "float16, 배율 65536": (deep_gradients(torch.float16, 2**16), "right", "-"),
    "bfloat16": (deep_gradients(torch.bfloat16, 1), "third", "--"),
}

# %% tags=["folded"]
# 그림과 확인: 계층마다의 상대 오차, float16의 경계
errors = {
    name: [((ours - true).norm() / true.norm()).item() for ours, true in zip(grads, exact, strict=True)]
    for name, (grads, _, _) in attempts.items()
}
zeros = [(grad == 0).float().mean().item() for grad in attempts["float16"][0]]
print(f"첫 계층의 그레이디언트 노름: {exact[0].norm():.1e}")
print(f"float16에서 0이 된 비율: 첫 계층 {zeros[0]:.0%}, 마지막 계층 {zeros[-1]:.0%}")

figure, axis = plt.subplots()
for name, (_, color, style) in attempts.items():
    axis.plot(range(1, 25), errors[name], style, color=COLORS[color], label=name)
axis.axhline(1, color=COLORS["muted"], linewidth=1)
axis.set(xlabel="계층 번호 (1이 입력 쪽)", ylabel="상대 오차 (로그 눈금)", yscale="log", ylim=(5e-4, 60))
axis.set_title("float32로 구한 그레이디언트와의 상대 오차")
axis.legend(loc="upper right")
show(
    figure,
    "계층마다의 그레이디언트 상대 오차 세 줄. 배율이 없는 float16은 출력 쪽에서 1000분의 1이지만 "
    "입력 쪽으로 갈수록 커져 1을 넘었다가, 맨 앞 계층들에서는 모두 0이 되어 정확히 1입니다. 배율을 곱한 float16은 줄곧 0.01 아래이고, bfloat16은 그 열 배쯤입니다.",
)
first_zeros = [(deep_gradients(torch.float16, 1, seed)[0] == 0).float().mean().item() for seed in range(6)]
assert median(first_zeros) > 0.8
assert min(errors["float16"][:3]) > 0.99
assert exact[0].norm() < 1e-4 * exact[-1].norm()  # 입력 쪽으로 갈수록 작아집니다
assert max(errors["float16, 배율 65536"]) < 0.02
assert max(errors["bfloat16"]) < 0.15
assert 3 < median(errors["bfloat16"]) / median(errors["float16, 배율 65536"]) < 30
# 0이 아닌 가장 작은 수는 6.0e-8이지만, 그 절반인 3.0e-8보다 크면 0이 아니라 6.0e-8로 반올림됩니다
tiny = torch.tensor([2.0**-25, 2.0**-25 * 1.001, 2.0**-24]).half().float().tolist()
assert tiny == [0.0, 2.0**-24, 2.0**-24]
reveal("02-4")

# %% [markdown]
r"""
이것이 언더플로(underflow)입니다. 오류도 경고도 없습니다. float16에서 0이 아닌 가장 작은 수는 $2^{-24}$, 약 $6 \times 10^{-8}$입니다. 그 절반인 $3 \times 10^{-8}$까지는 0으로, 그보다 크면 $6 \times 10^{-8}$로 반올림됩니다. 경계 가까이에서는 0이 되지 않아도 값이 두 배까지 달라집니다.

손실에 65536을 곱하면 연쇄 법칙을 따라 모든 그레이디언트가 65536배가 되어 float16의 범위로 올라옵니다. 다 구한 다음 나누면 됩니다. `torch.amp.GradScaler`(스케일러)가 이 일을 합니다.

| 호출 | 하는 일 |
|---|---|
| `scaler.scale(loss).backward()` | 손실에 배율을 곱해 역전파합니다 |
| `scaler.unscale_(opt)` | `p.grad`를 배율로 나누고, inf나 NaN이 있는지 적어 둡니다 |
| `scaler.step(opt)` | `opt.step()` 자리에 씁니다 |
| `scaler.update()` | 다음 스텝에 쓸 배율을 정합니다 |

bfloat16은 범위가 넓어 배율이 필요 없습니다. 대신 이 모델에서는 오차가 열 배쯤 큽니다.

배율이 너무 크면 이번에는 오버플로(overflow)가 납니다. 일부러 내 보겠습니다.

**예측 5.** 배율을 너무 크게 잡아 처음 몇 스텝(step)의 그레이디언트가 inf입니다. 루프는 스텝마다 `scheduler.step()`도 부릅니다. 그 몇 스텝 동안 매개변수(parameter)와 학습률은 어떻게 될까요?

- a: 매개변수는 그대로이고, 학습률은 바뀝니다.
- b: 둘 다 그대로입니다. 그 스텝은 없었던 것이 됩니다.
- c: 매개변수가 NaN이 되고, 학습률은 바뀝니다.
"""

# %% tags=["predict"]
predict("02-5")


# %%
def overflow_run(*, wait_for_update):
    """배율 2²⁴에서 시작하는 float16 학습입니다. 스텝마다 (배율, 학습률, 움직인 거리)를 적습니다."""
    model = make_model(seed=4)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = LambdaLR(opt, lambda k: min(1.0, (k + 1) / 8))  # 8스텝 동안 올립니다
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**24, growth_interval=12)
    log = []
    for xb, yb in make_batches(seed=4):
        before = flat(model.parameters())
        scale, rate = scaler.get_scale(), opt.param_groups[0]["lr"]
        opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        if not wait_for_update or scaler.get_scale() >= scale:
            scheduler.step()
        log.append((scale, rate, (flat(model.parameters()) - before).norm().item()))
    return [list(column) for column in zip(*log, strict=True)]


# %% tags=["folded"]
# 그림과 확인: 배율, 움직인 거리, 학습률을 스텝마다 그립니다
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    scales, rates, moves = overflow_run(wait_for_update=False)
_, patient_rates, patient_moves = overflow_run(wait_for_update=True)
skipped = [step for step, move in enumerate(moves) if move == 0]
first = next(step for step, move in enumerate(moves) if move > 0)
print("건너뛴 스텝:", skipped)
print(f"첫 업데이트의 학습률: {rates[first]:.4f}, 기다린 루프에서는 {patient_rates[first]:.4f}")
print("경고:", next(str(w.message) for w in caught if "lr_scheduler" in str(w.message)).split(". ")[0])

figure, axes = plt.subplots(3, 1, figsize=(7.2, 6), sharex=True)
axes[0].step(range(len(scales)), [math.log2(scale) for scale in scales], where="mid")
axes[0].set(ylabel="배율 (2의 몇 제곱)")
axes[1].plot([move or math.nan for move in moves], "o", markersize=4)
axes[1].plot(skipped, [0] * len(skipped), "x", color=COLORS["wrong"], markersize=8)
axes[1].text(9, 0.03, "건너뛴 스텝", color=COLORS["wrong"], ha="center", va="bottom")
axes[1].set(ylabel="움직인 거리")
axes[2].plot(rates, label="스텝마다 scheduler.step()")
axes[2].plot(patient_rates, "--", color=COLORS["third"], label="업데이트했을 때만")
axes[2].set(ylabel="학습률", xlabel="스텝")
axes[2].legend(loc="lower right")
show(
    figure,
    "위: 배율이 2의 24제곱에서 계단처럼 내려오다 멈추고, 12스텝 동안 괜찮으면 한 칸 올라갔다가 다시 내려옵니다. "
    "가운데: 배율이 내려간 스텝마다 움직인 거리가 0입니다. "
    "아래: 건너뛰는 동안에도 학습률은 계획대로 올라가고, 업데이트했을 때만 옮긴 학습률은 그만큼 늦게 올라갑니다.",
)
assert skipped[:3] == [0, 1, 2]
assert all(scales[step + 1] == scales[step] / 2 for step in skipped if step + 1 < len(scales))
assert rates[:8] == [0.5 * (k + 1) / 8 for k in range(8)]  # 한 스텝도 기다리지 않았습니다
assert rates[first] > 3 * patient_rates[first]
assert all(math.isfinite(move) for move in moves)
reveal("02-5")

# %% [markdown]
r"""
`scaler.step(opt)`은 그레이디언트에 inf나 NaN이 없으면 `opt.step()`을 부르고, 있으면 **부르지 않습니다.** `scaler.update()`는 그때 배율을 절반으로 낮춥니다. 한동안 괜찮았으면 두 배로 올립니다.

배율이 맞는 값으로 내려오기까지 몇 스텝은 버립니다. 그 뒤로도 배율은 한동안 괜찮으면 올라가 보고, 넘치면 한 스텝을 버리고 내려옵니다. 기본값은 2,000스텝마다이고, 여기서는 잘 보이도록 12스텝으로 줄였습니다. **건너뛴 스텝은 고장이 아니라 이 방법의 일부입니다.**

다만 건너뛰는 것은 `opt.step()`뿐이고, 학습률은 그동안 계획대로 바뀝니다. 워밍업(warmup)의 앞부분을 통째로 잃었습니다. 경고 하나가 나오지만 첫 스텝을 건너뛰었을 때뿐입니다. 수천 스텝 가운데 몇 번이면 무시해도 됩니다. 신경 쓰이면 그림의 점선처럼 배율이 줄지 않았을 때만 `scheduler.step()`을 부릅니다.

그러면 배율이 작아진 것은 나쁜 소식일까요? 세 학습을 비교합니다. 보통 학습, 손실에 1,000만을 곱한 학습, 그리고 데이터를 읽는 곳에 버그가 있어 입력이 모두 NaN인 학습입니다.
"""


# %%
def scaler_log(seed, *, spoil=1.0, factor=1.0, steps=180):
    """(마지막 배율, 건너뛴 스텝의 번호, 검증 정확도)입니다. spoil은 입력에, factor는 손실에 곱합니다."""
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    scaler = torch.amp.GradScaler(device.type)
    skipped = []
    for step, (xb, yb) in enumerate(make_batches(seed, epochs=4)[:steps]):
        opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb * spoil), yb) * factor
        scaler.scale(loss).backward()
        scale = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < scale:
            skipped.append(step)
    return scaler.get_scale(), skipped, accuracy(model)


# %% tags=["folded"]
# 표와 확인: 시드 6개의 중앙값을 보이고, 모든 시드에서 확인합니다
scaler_logs = {
    "보통 (180스텝)": [scaler_log(seed) for seed in range(6)],
    "손실 × 1,000만 (180스텝)": [scaler_log(seed, factor=1e7) for seed in range(6)],
    "입력이 모두 NaN (40스텝)": [scaler_log(seed, spoil=math.nan, steps=40) for seed in range(6)],
}
show_table(
    ["학습 (시드 6개의 중앙값)", "마지막 배율", "건너뛴 스텝", "검증 정확도"],
    [
        [
            name,
            f"{median(scale for scale, _, _ in logs):.1e}",
            f"{median(len(skipped) for _, skipped, _ in logs):.0f}",
            f"{median(score for _, _, score in logs):.1%}",
        ]
        for name, logs in scaler_logs.items()
    ],
)
ordinary, magnified, poisoned = scaler_logs.values()
assert torch.amp.GradScaler(device.type).get_growth_interval() == 2000
assert all(scale == 65536 and not skipped for scale, skipped, _ in ordinary)
# 배율이 1보다 한참 작지만, 처음 30스텝 안에 맞는 값을 찾고는 잘 학습합니다
assert all(scale < 0.1 and len(skipped) > 15 and max(skipped) < 30 for scale, skipped, _ in magnified)
assert all(abs(ours[2] - theirs[2]) < 0.05 for ours, theirs in zip(magnified, ordinary, strict=True))
assert all(skipped == list(range(40)) for _, skipped, _ in poisoned)
assert all(scale == 65536 / 2**40 for scale, _, _ in poisoned)

# %% [markdown]
r"""
손실이 1,000만 배이면 맞는 배율은 1보다 한참 작습니다. 그 값을 찾느라 처음 20스텝 남짓을 버렸을 뿐, 학습은 보통 때만큼 됩니다. 입력이 NaN인 학습은 모든 스텝을 건너뛰는데 오류는 나지 않습니다. **배율이 작다는 것만으로는 둘을 구별하지 못합니다.** 그래서 float16으로 학습할 때는 손실과 함께 **건너뛴 스텝의 수**(배율이 줄어든 횟수)를 기록합니다. 처음에 잠깐, 그다음은 2,000스텝에 한 번쯤이면 정상입니다. 쉬지 않고 늘면 학습이 아니라 건너뛰기를 하고 있는 것입니다.

## 4. 클리핑: 배치 하나가 움직이는 거리

약 15분 · ★★☆

데이터에는 가끔 튀는 배치(outlier batch)가 섞입니다. 60번째 스텝의 배치 하나만 정규화를 빠뜨려 픽셀 값의 범위가 0에서 1이 아니라 0에서 255라고 하겠습니다. 나머지 119스텝의 배치는 모두 정상입니다.

**예측 6.** 모멘텀(momentum)이 있는 SGD로 학습합니다. 튀는 배치를 본 다음 정상 배치로 59스텝을 더 학습합니다. 시드를 바꾸어 12번 하면, 검증 손실은 대개 어떻게 될까요?

- a: 잠깐 튀었다가, 59스텝 안에 전보다 낮아집니다.
- b: 59스텝 뒤에도 전보다 높습니다.
- c: NaN이 되어 돌아오지 않습니다.
"""

# %% tags=["predict"]
predict("02-6")


# %%
def rogue_run(max_norm, seed):
    """한 배치만 255배인 120스텝입니다. 스텝마다의 (검증 손실, 줄이기 전 그레이디언트 노름)을 돌려줍니다."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    log = []
    for step, (xb, yb) in enumerate(make_batches(seed, epochs=3)[:120]):
        opt.zero_grad()
        loss_fn(model(xb * 255 if step == 60 else xb), yb).backward()
        norm = clip_grad_norm_(model.parameters(), max_norm).item()  # inf이면 재기만 합니다
        opt.step()
        with torch.no_grad():
            log.append((loss_fn(model(x_val), y_val).item(), norm))
    return [list(column) for column in zip(*log, strict=True)]


unclipped = [rogue_run(math.inf, seed) for seed in range(12)]
clipped = [rogue_run(1.0, seed) for seed in range(12)]
norms = unclipped[0][1]
print(f"그레이디언트 노름: 보통 {median(norms):.2f}, 튀는 배치 {norms[60]:.0f}")

# %% tags=["folded"]
# 그림과 확인: 시드 12개의 검증 손실
figure, axis = plt.subplots()
for runs, color, style, label in [
    (unclipped, COLORS["wrong"], "--", "클리핑 없음"),
    (clipped, COLORS["right"], "-", "max_norm = 1.0"),
]:
    for seed, (curve, _) in enumerate(runs):
        axis.plot(curve, style, color=color, linewidth=1.2, label=label if seed == 0 else None)
axis.set(title="튀는 배치 하나 (60번째 스텝)", xlabel="스텝", ylabel="검증 손실 (로그 눈금)", yscale="log")
axis.legend(loc="upper left")
show(
    figure,
    "시드 12개의 검증 손실. 60번째 스텝 전까지 모두 내려옵니다. 클리핑이 없으면 그 스텝 뒤에 수십에서 수백까지 "
    "치솟고, 마지막 스텝에도 하나만 빼고 튀기 전보다 높습니다. 클리핑이 있으면 아무 일도 없었던 것처럼 계속 내려갑니다.",
)
setbacks = [wild[-1] / wild[59] for wild, _ in unclipped]
worse = sum(ratio > 1 for ratio in setbacks)
print(
    f"클리핑 없음: 시드 12개 가운데 {worse}개가 59스텝 뒤에도 튀기 전보다 높습니다. 중앙값은 {median(setbacks):.1f}배입니다"
)
for (wild, norms), (calm, _) in zip(unclipped, clipped, strict=True):
    assert max(wild[60:]) > 20
    assert all(math.isfinite(loss) for loss in wild)
    assert norms[60] > 80 * median(norms)
    assert max(calm[60:]) < 1.3 * calm[59]
    assert calm[-1] < 0.4
assert worse >= 10
assert median(setbacks) > 2
reveal("02-6", measured="b" if median(setbacks) > 1 else "a")

# %% [markdown]
r"""
모든 그레이디언트를 이어 붙인 노름(norm)이 `max_norm`을 넘으면 전체에 같은 수를 곱해 줄입니다. 방향은 그대로이고 길이만 줄어듭니다. 한 배치가 밀 수 있는 거리를 이렇게 막아 두면 튀는 배치는 지나갑니다.

스케일러가 있으면 **클리핑하는 자리**를 조심해야 합니다. `scaler.scale(loss).backward()` 직후의 `p.grad`는 65536배입니다.

**예측 7.** `unscale_`보다 **먼저** `max_norm=0.5`로 클리핑합니다. 세 에폭 뒤의 학습 손실을 보면 어떨까요?

- a: SGD만 학습하지 못합니다.
- b: AdamW만 학습하지 못합니다.
- c: 둘 다 학습하지 못합니다.
"""

# %% tags=["predict"]
predict("02-7")


# %%
def clipped_run(make_opt, *, unscale_first, seed):
    """float16으로 세 에폭 학습하고 (학습 손실, step()이 읽은 가장 큰 노름)을 돌려줍니다."""
    model = make_model(seed)
    opt = make_opt(model.parameters())
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**16)
    largest = 0.0
    for xb, yb in make_batches(seed, epochs=3):
        opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        if unscale_first:
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), 0.5)
        else:
            clip_grad_norm_(model.parameters(), 0.5)
            scaler.unscale_(opt)
        largest = max(largest, flat(p.grad for p in model.parameters()).norm().item())
        scaler.step(opt)
        scaler.update()
    with torch.no_grad():
        return loss_fn(model(x_train), y_train).item(), largest


# %% tags=["folded"]
# 표와 확인: 두 옵티마이저와 두 순서, 시드 6개의 중앙값
OPTIMIZERS = {
    "SGD 0.5": lambda params: torch.optim.SGD(params, lr=0.5),
    "AdamW 0.003": lambda params: torch.optim.AdamW(params, lr=0.003),
}
results = {}
for name, make_opt in OPTIMIZERS.items():
    for unscale_first in [True, False]:
        runs = [clipped_run(make_opt, unscale_first=unscale_first, seed=seed) for seed in range(6)]
        results[name, unscale_first] = [median(column) for column in zip(*runs, strict=True)]
show_table(
    ["옵티마이저", "순서", "학습 손실", "`step()`이 읽은 가장 큰 노름"],
    [
        [name, "unscale → clip" if right else "clip → unscale", f"{loss:.3f}", f"{norm:.1e}"]
        for (name, right), (loss, norm) in results.items()
    ],
)
assert results["SGD 0.5", True][0] < 0.3
assert results["SGD 0.5", False][0] > 2.0  # ln 10 = 2.3에서 움직이지 않습니다
assert abs(results["AdamW 0.003", True][0] - results["AdamW 0.003", False][0]) < 0.05
for name in OPTIMIZERS:
    assert 0.4 < results[name, True][1] < 0.51
    assert results[name, False][1] < 1e-4
reveal("02-7")

# %% [markdown]
r"""
먼저 클리핑하면 0.5로 줄인 것을 `unscale_`이 65536으로 한 번 더 나눕니다. 노름은 $7.6 \times 10^{-6}$을 넘지 못합니다. SGD는 그레이디언트의 크기만큼 움직이므로 멈춥니다. AdamW는 그레이디언트를 자기 크기로 나누므로 65536분의 1이 되어도 거의 똑같이 움직입니다. 손실 곡선은 멀쩡합니다. 다만 모든 스텝의 크기를 똑같이 눌렀으니 「튀는 배치만 줄인다」는 클리핑의 뜻은 사라졌습니다. 실제 사례: [Pytorch-UNet#468](https://github.com/milesial/Pytorch-UNet/issues/468).

### 연습 3. `amp_step`

약 30분 · ★★☆

지금까지의 줄을 한 스텝으로 모읍니다. `scaler=None`이면(bfloat16) 배율 없이 같은 일을 합니다. `torch.cuda.amp`는 더는 쓰지 않는 이름이니 `torch.autocast`와 `torch.amp`를 씁니다.
"""


# %% tags=["exercise:amp_step"]
def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    """혼합 정밀도로 한 스텝을 하고, 업데이트하기 전의 손실을 float로 돌려줍니다.

    dtype: 순전파와 손실을 계산할 정밀도입니다(torch.bfloat16, torch.float16).
    scaler: torch.amp.GradScaler입니다. None이면 배율 없이 역전파합니다.
    max_norm: 값이 있으면 배율을 되돌린 그레이디언트를 줄입니다. 0.0도 값입니다.

    오버플로가 나면 매개변수를 바꾸지 않고, 배율이 내려갑니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        # 꺼 둔 스케일러는 아무 일도 하지 않습니다. 아래 코드가 한 길이 됩니다
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    # 순전파와 손실만 낮은 정밀도로 계산합니다
    with torch.autocast(xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)
    # 손실을 키워 작은 그레이디언트가 0이 되지 않게 합니다
    scaler.scale(loss).backward()
    # 클리핑이 볼 그레이디언트를 진짜 크기로 되돌립니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    # inf나 NaN이 있으면 업데이트를 건너뜁니다
    scaler.step(opt)
    # 건너뛰었으면 배율을 내립니다
    scaler.update()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(amp_step)

# %% [markdown]
r"""
통과했으면 새 셀에서 `microscope(amp_step)`을 실행해 보세요. 배율이 곱해진 `.grad`가 어느 줄에서 제 크기로 돌아오고 어느 줄에서 클리핑되는지 정답과 나란히 볼 수 있습니다.

### 스케일러 아래의 그레이디언트 누적

약 10분 · ★★☆

그레이디언트 누적(gradient accumulation)에서는 마이크로 배치(micro-batch) 여러 개를 한 구간(window)으로 묶어 한 번 업데이트합니다. 스케일러를 쓰면 어떻게 될까요?

**예측 8.** 마이크로 배치 네 개를 차례로 역전파하고, 구간의 끝에서 `scaler.step(opt)`을 부릅니다. 네 개 가운데 셋째 하나만 float16에서 넘칩니다. 이 구간은 어떻게 될까요?

- a: 구간 전체를 건너뜁니다.
- b: 넘친 것만 버리고 나머지 셋으로 업데이트합니다.
- c: `scaler.step()`이 오류를 냅니다.
"""

# %% tags=["predict"]
predict("02-8")

# %%
model = make_model(seed=6)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
scaler = torch.amp.GradScaler(device.type, init_scale=2.0**12)
window = make_batches(seed=6, batch_size=16)[:4]
window[2] = (window[2][0] * 1e6, window[2][1])  # 16비트로 바꾸면 inf가 됩니다
before = flat(model.parameters())
for xb, yb in window:
    with torch.autocast(device.type, torch.float16):
        loss = loss_fn(model(xb), yb) / len(window)
    scaler.scale(loss).backward()
    finite = [torch.isfinite(p.grad).all().item() for p in model.parameters()]
    print(f"손실 {loss.item():.3f}, 쌓인 그레이디언트가 모두 유한한지: {'예' if all(finite) else '아니요'}")
scaler.unscale_(opt)
try:
    scaler.unscale_(opt)
    twice = None
except RuntimeError as error:
    twice = str(error)
scaler.step(opt)
scaler.update()

# %% tags=["folded"]
# 확인: 움직인 거리와 배율, 그리고 unscale_을 두 번 부르면 어떻게 되는지
print(f"움직인 거리 {apart(before, flat(model.parameters()))}, 배율 {scaler.get_scale():.0f}")
print("unscale_을 두 번 부르면:", twice)
assert torch.equal(before, flat(model.parameters()))
assert scaler.get_scale() == 2.0**11
assert twice is not None
reveal("02-8")

# %% [markdown]
r"""
마이크로 배치 넷은 `p.grad` 하나에 쌓입니다. inf나 NaN에는 무엇을 더해도 유한한 값으로 돌아오지 않습니다. 마이크로 배치 하나 때문에 넷을 모두 버립니다.

쌓이는 동안 배율이 바뀌면 서로 다른 단위를 더하게 됩니다. 그래서 구간마다 한 번인 것과 마이크로 배치마다인 것을 나눕니다.

| 마이크로 배치마다 | 구간이 끝나고 한 번 |
|---|---|
| autocast 순전파, 손실 ÷ 개수, `scaler.scale(loss).backward()` | `unscale_` → 클리핑 → `step` → `update` |

`unscale_`을 마이크로 배치마다 부르면 두 번째에서 `RuntimeError`가 납니다. 나누어 버린 그레이디언트에 배율이 곱해진 것을 더하는 사고를 PyTorch가 막아 주는 것입니다.

### 연습 4. `amp_accumulate`

약 30분 · ★★★

마이크로 배치 리스트 전체를 한 구간으로 보고 한 번 업데이트합니다. 손실은 마이크로 배치의 수로 나누고, 구간의 평균 손실을 돌려줍니다. 마이크로 배치의 크기는 모두 같습니다.
"""


# %% tags=["exercise:amp_accumulate"]
def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    """micro_batches 전체를 한 구간으로 보고 혼합 정밀도로 한 번 업데이트합니다. 구간의 평균 손실을 float로 돌려줍니다.

    micro_batches: 크기가 같은 (xb, yb)의 리스트이고, 비어 있지 않습니다.
    dtype, scaler, max_norm은 amp_step과 같고, 배율을 되돌리는 것도 클리핑도 구간에 한 번입니다.
    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    window_loss = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            logits = model(xb)
            loss = loss_fn(logits, yb) / len(micro_batches)
        # 구간이 끝날 때까지 같은 배율로 쌓입니다
        scaler.scale(loss).backward()
        window_loss += loss.item()
    # 여기서부터는 구간에 한 번입니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return window_loss
    # END SOLUTION


# %% tags=["check"]
check(amp_accumulate)

# %% [markdown]
r"""
## 5. 스케줄: 학습률을 스텝마다 바꿉니다

약 15분 · ★★☆

학습하는 동안 학습률을 어떻게 바꿀지 정한 것이 스케줄입니다. 처음에 조금씩 올리는 것이 워밍업이고, 끝으로 갈수록 내리는 것이 감쇠입니다. 하나씩 켜고 꺼서 각자의 몫을 재 봅니다.

**예측 9.** 3계층 ReLU 모델, AdamW, 최고 학습률 0.05, 세 에폭입니다. 마지막 학습 손실이 가장 낮은 것은 무엇일까요?

- a: 워밍업만
- b: 코사인 감쇠(cosine decay)만
- c: 워밍업과 코사인 감쇠
"""

# %% tags=["predict"]
predict("02-9")


# %%
def warmup_then_cosine(opt, warmup, total):
    """PyTorch에 들어 있는 두 스케줄러를 이은 것입니다. 연습 문제에서는 식 하나로 씁니다."""
    rising = LinearLR(opt, start_factor=1 / warmup, total_iters=warmup - 1)
    falling = CosineAnnealingLR(opt, T_max=total - warmup)
    return SequentialLR(opt, [rising, falling], milestones=[warmup])


SCHEDULES = {
    "상수": lambda opt: LambdaLR(opt, lambda k: 1.0),
    "워밍업만": lambda opt: LambdaLR(opt, lambda k: min(1.0, (k + 1) / 15)),
    "코사인만": lambda opt: CosineAnnealingLR(opt, T_max=135),
    "워밍업 + 코사인": lambda opt: warmup_then_cosine(opt, 15, 135),
}


# %%
def scheduled_run(make_scheduler, seed):
    """(마지막 학습 손실, 처음 40스텝에서 가장 높았던 배치 손실)입니다."""
    torch.manual_seed(seed)
    layers = [nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    model = nn.Sequential(*layers).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = make_scheduler(opt)
    curve = []
    for xb, yb in make_batches(seed, epochs=3):
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        scheduler.step()
        curve.append(loss.item())
    with torch.no_grad():
        return loss_fn(model(x_train), y_train).item(), max(curve[:40])


# %% tags=["folded"]
# 표와 확인: 네 스케줄, 시드 6개의 중앙값
finals, peaks = {}, {}
for name, make_scheduler in SCHEDULES.items():
    runs = [scheduled_run(make_scheduler, seed) for seed in range(6)]
    finals[name], peaks[name] = zip(*runs, strict=True)
show_table(
    ["스케줄 (시드 6개의 중앙값)", "마지막 학습 손실", "초반의 가장 높은 손실"],
    [[name, f"{median(finals[name]):.3f}", f"{median(peaks[name]):.2f}"] for name in SCHEDULES],
)
assert median(finals["코사인만"]) < 0.65 * median(finals["상수"])
assert median(finals["코사인만"]) < 0.75 * median(finals["워밍업만"])
assert median(finals["워밍업 + 코사인"]) < 0.85 * median(finals["코사인만"])
assert median(peaks["워밍업만"]) < median(peaks["상수"])
letters = {"워밍업만": "a", "코사인만": "b", "워밍업 + 코사인": "c"}
lowest = min(letters, key=lambda name: median(finals[name]))
reveal("02-9", measured=letters[lowest])

# %% [markdown]
r"""
이 학습률은 처음에도 끝에도 너무 큽니다. 워밍업은 초반의 가장 높은 손실을 낮추고, 감쇠는 마지막 손실을 절반쯤으로 낮춥니다. 이 설정에서는 감쇠의 몫이 더 크고, 둘을 함께 쓸 때 가장 낮습니다. AdamW의 처음 몇 스텝이 왜 거친지는 03에서 잽니다.

여기서는 **언제 끝나는가**를 봅니다. 코사인 스케줄은 전체 스텝 수를 미리 알아야 합니다.

**예측 10.** 전체를 100스텝으로 계획했는데 학습을 130스텝까지 합니다. `CosineAnnealingLR`과 `OneCycleLR`은 어떻게 될까요?

- a: 둘 다 가장 낮은 학습률에 머뭅니다.
- b: 둘 다 계획이 끝났다는 오류를 냅니다.
- c: 하나는 다시 올라가고, 하나는 오류를 냅니다.
"""

# %% tags=["predict"]
predict("02-10")


# %%
def rates_of(make_scheduler, steps=130):
    """최고 학습률을 1로 놓고 스텝마다의 학습률을 적습니다. 오류가 나면 거기까지입니다."""
    opt = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make_scheduler(opt)
    rates, problem = [], None
    for _ in range(steps):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        try:
            scheduler.step()
        except ValueError as error:
            problem = str(error)
            break
    return rates, problem


curves = {
    "워밍업 + 코사인": rates_of(lambda opt: warmup_then_cosine(opt, 10, 100)),
    "OneCycle": rates_of(lambda opt: OneCycleLR(opt, max_lr=1.0, total_steps=100)),
    "계단 감쇠": rates_of(lambda opt: StepLR(opt, step_size=30, gamma=0.1)),
}
# %% tags=["folded"]
# 그림과 확인: 세 스케줄의 학습률, 식으로 계산한 것과의 비교
figure, axis = plt.subplots(figsize=(7.2, 3.8))
styles = [("right", "-"), ("wrong", "--"), ("third", "-.")]
for (name, (rates, _)), (color, style) in zip(curves.items(), styles, strict=True):
    axis.plot(rates, style, color=COLORS[color], label=name)
axis.axvspan(100, 130, color=COLORS["grid"], alpha=0.6)
axis.text(101.5, 0.62, "계획 밖", color=COLORS["muted"])
axis.set(title="100스텝으로 계획한 세 스케줄", xlabel="스텝", ylabel="최고 학습률에 대한 비")
axis.legend(loc="upper right")
show(
    figure,
    "세 학습률 곡선. 워밍업과 코사인은 10스텝에 1까지 올라 100스텝 가까이에서 0이 되고, 100스텝을 지나면 다시 올라갑니다. "
    "OneCycle은 30스텝에 1이 되었다가 100스텝에서 끝납니다. 계단 감쇠는 30스텝마다 10분의 1이 됩니다.",
)
cosine, one_cycle = curves["워밍업 + 코사인"], curves["OneCycle"]
print(
    f"코사인의 학습률: 99스텝 {cosine[0][99]:.4f}, 101스텝 {cosine[0][101]:.4f}, 129스텝 {cosine[0][129]:.4f}"
)
print("OneCycle:", one_cycle[1])
by_formula = [(k + 1) / 10 if k < 10 else 0.5 * (1 + math.cos(math.pi * (k - 10) / 90)) for k in range(100)]
assert max(abs(ours - rate) for ours, rate in zip(by_formula, cosine[0], strict=False)) < 1e-9
assert cosine[0][129] > 0.1 > cosine[0][99]
assert one_cycle[1] is not None
assert len(one_cycle[0]) <= 101  # 계획한 만큼만 갔습니다
assert abs(curves["계단 감쇠"][0][29] - 1.0) < 1e-9
assert abs(curves["계단 감쇠"][0][30] - 0.1) < 1e-9
reveal("02-10")

# %% [markdown]
r"""
`OneCycleLR`은 계획한 스텝을 넘기면 오류를 냅니다. 코사인은 주기 함수여서 다시 올라갑니다. 에폭을 늘리고 `total_steps`를 그대로 두면 끝에서 다시 튑니다.

| 스케줄 | 흔히 쓰는 곳 |
|---|---|
| 워밍업 + 코사인 | 트랜스포머의 사전 학습. 길이를 미리 정하고 끝까지 갑니다 |
| OneCycle | 짧은 미세 조정. 처음부터 끝까지 한 번의 오르내림입니다 |
| 계단 감쇠 | 예전의 CNN 레시피. 정한 에폭마다 10분의 1로 낮춥니다 |

어느 것이 가장 좋다는 뜻은 아닙니다. 길이, 최고 학습률과 함께 정하는 하이퍼파라미터입니다. 세 스케줄 모두 **스텝마다** 부르면 스텝을 세고, 에폭마다 부르면 에폭을 셉니다. 단위는 스케줄러가 아니라 부르는 자리가 정합니다.

### 연습 5. `warmup_cosine`

약 25분 · ★★☆

식 하나로 씁니다. 첫 업데이트의 학습률이 0이면 그 스텝을 버리므로 `(k + 1) / warmup_steps`로 셉니다. 끝을 지나면 0에 머물러야 합니다. 매개변수 그룹마다 학습률이 다르면 **각자의 학습률에** 같은 배율을 곱합니다. `LambdaLR`이 바로 그렇게 합니다.
"""


# %% tags=["exercise:warmup_cosine"]
def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    """매개변수 그룹마다 자기 학습률에 같은 배율을 곱하는 스케줄러를 만듭니다.

    k번째 업데이트(0부터)의 배율:
        k < warmup_steps     (k + 1) / warmup_steps
        그 뒤                0.5 · (1 + cos(π · (k − warmup_steps) / (total_steps − warmup_steps)))
        k ≥ total_steps      0
    warmup_steps는 0일 수 있습니다.
    """
    # BEGIN SOLUTION

    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        # 코사인은 끝을 지나면 다시 올라갑니다
        if k >= total_steps:
            return 0.0
        progress = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    # 배율 하나를 그룹마다 자기 학습률에 곱합니다
    return torch.optim.lr_scheduler.LambdaLR(opt, factor)
    # END SOLUTION


# %% tags=["check"]
check(warmup_cosine)

# %% [markdown]
r"""
### 보너스 1. `lr_range_test`

약 30분 · ★★★

보너스는 점수에 들어가지 않고 힌트도 없습니다. 건너뛰어도 뒤를 읽는 데 지장이 없습니다.

최고 학습률은 어떻게 고를까요? 흔히 쓰는 방법은 **학습률 범위 시험**입니다([Smith, 2015](https://arxiv.org/abs/1506.01186)). 학습률을 아주 작은 값에서 키워 가며 한 스텝씩 업데이트하고, 손실이 어느 학습률부터 내려가고 어느 학습률에서 튀는지 봅니다. 본 학습을 시작하기 전에 재기만 하는 것이므로, 끝나면 **아무 일도 없었던 것과 같아야 합니다.** 되돌릴 것은 가중치만이 아닙니다.
"""


# %% tags=["exercise:lr_range_test"]
def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    """lrs의 학습률마다 한 번씩 차례로 업데이트해 보고, 업데이트하기 전의 손실을 float의 리스트로 돌려줍니다.

    batches: 비어 있지 않은 (xb, yb)의 리스트입니다. 학습률마다 다음 배치를 하나 쓰고, 배치가 모자라면 처음부터 다시 씁니다.
    lrs: 학습률의 리스트입니다. 오르는 순서가 아니어도 받은 순서대로, 업데이트할 때 모든 매개변수 그룹에 그 학습률을 씁니다.
        비어 있으면 업데이트하지 않고 빈 리스트를 돌려줍니다.

    - opt로 업데이트하되 이번 배치의 그레이디언트만 씁니다. 부르기 전에 남아 있던 것은 쓰지 않습니다.
    - 손실이 inf, -inf, NaN이면 그 손실은 리스트에 넣지 않고 거기서 끝냅니다. 아무리 커도 유한하면 끝내지 않습니다.
    - 모듈마다의 모드는 도중에도 끝난 뒤에도 받은 그대로입니다.
    - 끝나면 model.state_dict()의 매개변수와 버퍼, 옵티마이저의 상태, 그룹마다의 학습률이 부르기 전과 같습니다.
    - 끝나면 어느 매개변수에도 그레이디언트가 없습니다(None이나 0). opt에 없는 매개변수도, lrs가 비었을 때도 마찬가지입니다.
    - 도중에 예외가 나면 모두 되돌린 다음 그 예외를 그대로 냅니다. Ctrl+C(KeyboardInterrupt)도 예외입니다.
    - 난수의 상태는 되돌리지 않아도 됩니다.
    """
    # BEGIN SOLUTION
    # state_dict()의 텐서는 복사본이 아니므로 깊은 복사본을 만듭니다
    model_state = copy.deepcopy(model.state_dict())
    opt_state = copy.deepcopy(opt.state_dict())
    losses = []
    try:
        for k, lr in enumerate(lrs):
            xb, yb = batches[k % len(batches)]
            for group in opt.param_groups:
                group["lr"] = lr
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            if not math.isfinite(loss.item()):
                break
            losses.append(loss.item())
            loss.backward()
            opt.step()
    # 일찍 끝나도, 예외가 나도 되돌립니다
    finally:
        model.load_state_dict(model_state)
        opt.load_state_dict(opt_state)
        # opt에 없는 매개변수에도 그레이디언트가 쌓였습니다
        model.zero_grad()
    return losses
    # END SOLUTION


# %% tags=["check"]
check(lr_range_test)

# %% [markdown]
r"""
**첫째 날은 여기까지입니다.** 한 스텝을 이루는 부품은 다 모였습니다. 여기서 쉬어 가세요. 둘째 날에는 그 한 스텝을 며칠 동안 되풀이할 때 필요한 것, 곧 검증과 체크포인트와 이어 가기를 다룹니다. 노트북을 다시 열었다면 이 셀을 고르고 메뉴에서 실행 → 위의 모든 셀 실행(영어 메뉴에서는 Run → Run All Above Selected Cell)을 고른 다음 이어 갑니다. 고른 예측과 통과한 연습 문제는 그대로 남아 있습니다.

## 6. 검증과 가장 좋은 체크포인트

약 20분 · ★★☆

학습 손실은 학습에 쓴 데이터만 압니다. 처음 보는 데이터에서도 잘하는지는 따로 재야 합니다. 일부러 어려운 상황을 만듭니다. 학습 데이터를 120장으로 줄이고 **정답의 20%를 아무 숫자로 바꿉니다.**

**예측 11.** 60에폭 동안 학습 손실은 계속 내려갑니다. 검증 손실은 어떨까요?

- a: 함께 내려갑니다. 속도만 느립니다.
- b: 내려가다가 다시 올라갑니다.
- c: 처음부터 올라갑니다. 틀린 정답을 배우기 때문입니다.
"""

# %% tags=["predict"]
predict("02-11")


# %% tags=["folded"]
# 준비: 120장의 20%에 아무 정답이나 붙인 학습 데이터
def noisy_digits(generator):
    noisy = torch.rand(120, generator=generator) < 0.2
    targets = y_train[:120].cpu().clone()
    targets[noisy] = torch.randint(10, (int(noisy.sum()),), generator=generator)
    return x_train[:120], targets.to(device)


# %%
def overfit_run(seed, keep=None, epochs=60):
    """(학습 손실 곡선, 검증 손실 곡선, 모델)과, 검증 손실이 가장 낮을 때마다 keep(model)이 적어 둔 것입니다."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    generator = torch.Generator().manual_seed(seed)
    inputs, targets = noisy_digits(generator)
    train_curve, val_curve, kept = [], [], None
    for _ in range(epochs):
        for rows in torch.randperm(120, generator=generator).to(device).split(32):
            opt.zero_grad()
            loss_fn(model(inputs[rows]), targets[rows]).backward()
            opt.step()
        with torch.no_grad():
            train_curve.append(loss_fn(model(inputs), targets).item())
            val_curve.append(loss_fn(model(x_val), y_val).item())
        if keep is not None and val_curve[-1] == min(val_curve):
            kept = keep(model)
    return train_curve, val_curve, model, kept


runs = [overfit_run(seed) for seed in range(6)]

# %% tags=["folded"]
# 그림과 표와 확인: 시드 0의 두 곡선, 시드 6개의 가장 낮은 검증 손실
train_curve, val_curve, *_ = runs[0]
best_epoch = val_curve.index(min(val_curve))

figure, axis = plt.subplots()
epochs = range(1, 61)
axis.plot(epochs, train_curve, "--", color=COLORS["third"], label="학습 손실")
axis.plot(epochs, val_curve, color=COLORS["right"], label="검증 손실")
axis.plot(
    best_epoch + 1, min(val_curve), "o", color=COLORS["wrong"], markersize=9, label="가장 낮은 검증 손실"
)
axis.set(title="120장, 정답의 20%를 아무 숫자로 바꾼 학습", xlabel="에폭", ylabel="손실")
axis.legend()
show(
    figure,
    "학습 손실은 60에폭 동안 계속 내려가 0.1에 이릅니다. 검증 손실은 20에폭 안팎까지 내려가다가 다시 올라갑니다. "
    "가장 낮은 곳에 점이 있습니다.",
)
show_table(
    ["시드", "가장 낮은 검증 손실", "그 에폭", "마지막 검증 손실"],
    [[seed, min(run[1]), run[1].index(min(run[1])) + 1, run[1][-1]] for seed, run in enumerate(runs)],
)
for train_losses, val_losses, *_ in runs:
    assert train_losses[-1] < 0.3
    assert val_losses.index(min(val_losses)) < 45
    assert val_losses[-1] > 1.1 * min(val_losses)
reveal("02-11")

# %% [markdown]
r"""
시드 6개 모두 그렇습니다. 오래 학습하면 데이터의 잡음까지 외웁니다. 과적합(overfitting)입니다. **가장 좋은 모델은 마지막 모델이 아닙니다.** 그래서 검증 손실이 가장 낮을 때마다 모델을 적어 둡니다.

**예측 12.** 검증 손실이 가장 낮을 때마다 `best_state = model.state_dict()`로 적어 둡니다. 60에폭 뒤에 `best_state`에는 무엇이 들어 있을까요?

- a: 마지막 에폭의 가중치
- b: 검증 손실이 가장 낮았던 에폭의 가중치
- c: 아무것도 없는 빈 dict
"""

# %% tags=["predict"]
predict("02-12")


# %%
def keep_in_four_ways(model):
    """지금의 가중치를 네 가지 방법으로 적어 둡니다. 비교할 때 쓸 값도 하나 복사해 둡니다."""
    torch.save(model.state_dict(), folder / "overfit.pt")
    ways = {
        "`model.state_dict()`": model.state_dict(),
        "`dict(model.state_dict())`": dict(model.state_dict()),
        "`copy.deepcopy(model.state_dict())`": copy.deepcopy(model.state_dict()),
    }
    return ways, flat(model.parameters())


*_, model, (kept, best_weights) = overfit_run(0, keep_in_four_ways)
kept["`torch.save`한 파일"] = torch.load(folder / "overfit.pt", weights_only=True, map_location=device)
last_weights = flat(model.parameters())

# %% tags=["folded"]
# 표와 확인: 적어 둔 것이 가장 좋았던 가중치인지, 마지막 가중치인지
rows = []
for how, state in kept.items():
    weights = flat(state.values())
    rows.append(
        [
            how,
            *("예" if torch.equal(weights, other) else "아니요" for other in (best_weights, last_weights)),
        ]
    )
show_table(["적어 둔 방법", "가장 좋았던 가중치와 같은지", "마지막 가중치와 같은지"], rows)
assert [row[1:] for row in rows] == [["아니요", "예"]] * 2 + [["예", "아니요"]] * 2
reveal("02-12")

# %% [markdown]
r"""
`state_dict()`의 텐서는 복사본이 아니라 모델의 텐서입니다. 업데이트하면 함께 바뀝니다. `dict(...)`와 `.copy()`도 소용없습니다. 겉의 dict만 새것이고 텐서는 그대로입니다. 깊은 복사본을 만들거나 파일에 씁니다. 파일이 낫습니다. 프로세스가 죽어도 남기 때문입니다. 실제 사례: 공식 튜토리얼에도 있던 버그입니다([tutorials#188](https://github.com/pytorch/tutorials/pull/188), [OpenKE#131](https://github.com/thunlp/OpenKE/pull/131), [PyPOTS#667](https://github.com/WenjieDu/PyPOTS/issues/667)).

「더 좋은가」를 비교하는 줄에도 함정이 있습니다. 검증 점수가 NaN이면 어떻게 될까요? NaN과의 비교는 언제나 거짓입니다.
"""

# %%
scores = [0.7, 0.9, math.nan, 0.8]
rules = {
    "`score > best`": lambda score, best: score > best,
    "`not score <= best`": lambda score, best: not score <= best,
}
kept_score = {}
for rule, better in rules.items():
    best = -math.inf
    for score in scores:
        if better(score, best):
            best = score
    kept_score[rule] = best
show_table(["조건", f"점수 {scores} 다음에 남는 최고"], kept_score.items())
assert kept_score["`score > best`"] == 0.9
assert kept_score["`not score <= best`"] == 0.8  # NaN이 0.9를 밀어내고, 다음 것은 무엇이든 저장됩니다

# %% [markdown]
r"""
### 저장하다가 죽으면

**예측 13.** `best.pt`에 지금까지 가장 좋은 모델이 있습니다. 더 좋은 새 모델을 같은 이름에 바로 저장하는 도중에 디스크가 찼습니다. `best.pt`에는 무엇이 남을까요?

- a: 예전 모델이 그대로 남습니다.
- b: 새 모델이 쓰인 데까지만 열립니다.
- c: 열리지 않는 파일이 남습니다.
"""

# %% tags=["predict"]
predict("02-13")


# %% tags=["folded"]
# 준비: 4,000바이트를 쓰면 꽉 차는 디스크
class FullDisk(io.FileIO):
    room = 4000

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError("디스크가 꽉 찼습니다")
        return super().write(data)


# %%
def save_in_place(state, path, opener):
    with opener(path, "wb") as file:
        torch.save(state, file)


def save_beside(state, path, opener):
    """옆에 다 쓴 다음 이름을 바꿉니다. 이름 바꾸기는 중간이 없습니다."""
    temporary = path.with_suffix(".tmp")
    with opener(temporary, "wb") as file:
        torch.save(state, file)
    os.replace(temporary, path)


# %% tags=["folded"]
# 표와 확인: 예전 모델(점수 0.9)을 저장하고, 새 모델(0.95)을 저장하다가 죽은 다음 파일을 엽니다
def what_is_left(save):
    path = folder / "best.pt"
    weights = make_model(seed=7).state_dict()
    save({"score": 0.9, "model": weights}, path, io.FileIO)
    try:
        save({"score": 0.95, "model": weights}, path, FullDisk)
    except (OSError, RuntimeError):
        print(f"{save.__name__}: 저장하다가 죽었습니다. best.pt는 {path.stat().st_size:,}바이트입니다")
    try:
        return f"점수 {torch.load(path, weights_only=True)['score']}"
    except Exception as error:
        return f"열리지 않음: {str(error).split(':')[0][:60]}"


left = {save.__name__: what_is_left(save) for save in (save_in_place, save_beside)}
show_table(["저장 방법", "다시 열면"], left.items())
assert left["save_in_place"].startswith("열리지 않음")
assert left["save_beside"] == "점수 0.9"
reveal("02-13")

# %% [markdown]
r"""
쓰려고 여는 순간 지난 파일은 비워집니다. 그다음에 죽으면 반쪽만 남습니다. 디스크가 차는 일만이 아닙니다. 작업 시간이 끝나 프로세스가 죽을 때도 같습니다. 하필 **가장 좋은 모델을 저장하는 순간**입니다. 옆에 다 쓰고 `os.replace`로 이름을 바꾸면, 어느 순간에 죽어도 지난 파일이나 새 파일이 온전합니다. 전원이 나가는 것까지 대비하려면 이름을 바꾸기 전에 `os.fsync`도 부릅니다.

### 연습 6. `BestCheckpoint`

약 40분 · ★★★

점수가 지금까지 나온 것 가운데 가장 높을 때만 저장하는 클래스입니다. 지금까지 본 것이 모두 들어갑니다. 그 순간의 상태를, 옵티마이저와 스케줄러까지, 설정과 함께, 옆에 쓴 다음 이름을 바꿔서 저장합니다. `score`는 NumPy 값일 수 있으니 평범한 `float`로 바꿉니다.
"""


# %% tags=["exercise:BestCheckpoint"]
class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        """path: 체크포인트 파일의 경로입니다. 이미 있던 파일의 점수는 세지 않고, 처음 저장할 때 덮어씁니다."""
        # BEGIN SOLUTION
        self.path = Path(path)
        self.best = None
        # END SOLUTION

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        """score가 지금까지의 어떤 점수보다 높으면 저장하고, 저장했는지를 돌려줍니다.

        첫 점수는 0.0이어도 저장합니다. NaN은 저장하지 않습니다.
        config는 TrainConfig이거나 dict입니다. 파일에는 어느 쪽이든 dict로 담습니다.
        파일의 키는 model, optimizer, scheduler, step, score, config입니다. 다른 키가 더 있어도 됩니다. weights_only=True로 열려야 합니다.
        저장하다 끊겨도 예전 파일이나 새 파일이 온전히 남아야 합니다.
        저장이 예외로 끝났을 때 그 점수를 지금까지의 점수로 칠지는 정하지 않습니다.
        """
        # BEGIN SOLUTION
        score = float(score)
        if math.isnan(score):
            return False
        if self.best is not None and score <= self.best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        # 옆에 다 쓴 다음 이름을 바꿉니다. 쓰다가 죽어도 예전 파일은 그대로입니다
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True
        # END SOLUTION


# %% tags=["check"]
check(BestCheckpoint)

# %% [markdown]
r"""
## 7. 이어서 학습하기

약 20분 · ★★★

체크포인트가 왜 가중치 말고 다른 것까지 들고 있어야 하는지는 이어서 학습해 보면 압니다. 120스텝을 끝까지 간 학습과, 60스텝에서 끊고 이어 간 학습을 비교합니다. 배치는 같은 순서로 줍니다.

**예측 14.** 가중치는 언제나 되살립니다. 나머지 셋 가운데 **하나만** 빠뜨린다면, 끊지 않은 학습에서 가장 멀어지는 것은 무엇일까요? 모멘텀이 있는 SGD, 드롭아웃이 있는 모델, 워밍업과 코사인 스케줄입니다.

- a: 옵티마이저의 상태
- b: 스케줄러의 상태
- c: 난수의 상태
"""

# %% tags=["predict"]
predict("02-14")


# %%
def planned(k):
    """20스텝 워밍업, 120스텝에 0이 되는 코사인입니다."""
    return (k + 1) / 20 if k < 20 else 0.5 * (1 + math.cos(math.pi * (k - 20) / 100))


def fresh_start(seed):
    model = make_model(seed, dropout=0.2)
    opt = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    return model, opt, LambdaLR(opt, planned)


def continue_training(model, opt, scheduler, batches):
    """스텝마다의 (손실, 학습률)을 돌려줍니다."""
    log = []
    for xb, yb in batches:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        log.append((loss.item(), opt.param_groups[0]["lr"]))
        opt.step()
        scheduler.step()
    return log


# %% tags=["folded"]
# 준비: 난수의 상태를 읽고 되돌립니다. GPU가 있으면 GPU의 난수도 함께 다룹니다
def random_state():
    states = {"cpu": torch.get_rng_state()}
    return states if on_cpu else states | {"cuda": torch.cuda.get_rng_state()}


def restore_random(states):
    torch.set_rng_state(states["cpu"])
    if not on_cpu:
        torch.cuda.set_rng_state(states["cuda"])


# %%
def whole_run(seed):
    """120스텝을 끝까지 갑니다. 60스텝에서 파일을 하나 남깁니다. 마지막 가중치와 기록을 돌려줍니다."""
    batches = make_batches(seed, epochs=3)[:120]
    model, opt, scheduler = fresh_start(seed)
    log = continue_training(model, opt, scheduler, batches[:60])
    halfway = {
        "가중치": model.state_dict(),
        "옵티마이저": opt.state_dict(),
        "스케줄러": scheduler.state_dict(),
        "난수": random_state(),
    }
    torch.save(halfway, folder / "halfway.pt")
    log += continue_training(model, opt, scheduler, batches[60:])
    return flat(model.parameters()), log


# %%
def resumed_without(seed, *missing):
    """파일을 읽어 60스텝부터 이어 갑니다. missing에 적은 것은 되살리지 않습니다."""
    model, opt, scheduler = fresh_start(seed)
    saved = torch.load(folder / "halfway.pt", weights_only=True, map_location="cpu")
    model.load_state_dict(saved["가중치"])
    if "옵티마이저" not in missing:
        opt.load_state_dict(saved["옵티마이저"])
    if "스케줄러" not in missing:
        scheduler.load_state_dict(saved["스케줄러"])
    if "난수" not in missing:
        restore_random(saved["난수"])
    log = continue_training(model, opt, scheduler, make_batches(seed, epochs=3)[60:120])
    return flat(model.parameters()), log


# %% tags=["folded"]
# 표와 그림과 확인: 시드 6개에서 하나씩 빠뜨립니다. 그림은 시드 0입니다
everything = ("옵티마이저", "스케줄러", "난수")
omissions = {
    "없음": (),
    "난수": ("난수",),
    "옵티마이저": ("옵티마이저",),
    "스케줄러": ("스케줄러",),
    "셋 다 (가중치만 되살림)": everything,
}
distances = {name: [] for name in omissions}
rates_seen, logs = {}, {}
for seed in reversed(range(6)):
    uninterrupted, whole_log = whole_run(seed)
    for name, missing in omissions.items():
        weights, logs[name] = resumed_without(seed, *missing)
        distances[name].append(apart(uninterrupted, weights))
        rates_seen[name] = [logs[name][0][1], logs[name][-1][1]]
show_table(
    ["되살리지 않은 것", "가중치의 최대 차이 (시드 6개의 중앙값)", "첫 학습률", "마지막 학습률"],
    [
        [
            name,
            f"{median(found):.1e}" if any(found) else "0 (비트까지 같음)",
            *(f"{rate:.4f}" for rate in rates_seen[name]),
        ]
        for name, found in distances.items()
    ],
)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for column, (axis, name) in enumerate(zip(axes, ["배치 손실", "학습률"], strict=True)):
    axis.plot([entry[column] for entry in whole_log], color=COLORS["right"], label="끊지 않음")
    axis.plot(
        range(60, 120),
        [entry[column] for entry in logs["셋 다 (가중치만 되살림)"]],
        "--",
        color=COLORS["wrong"],
        label="가중치만 되살림",
    )
    axis.axvline(60, color=COLORS["muted"], linewidth=1)
    axis.set(xlabel="스텝", ylabel=name)
axes[0].legend()
show(
    figure,
    "왼쪽: 60스텝 뒤로 손실 곡선이 갈라지지만 둘 다 낮아서 이상해 보이지 않습니다. "
    "오른쪽: 끊지 않은 학습률은 코사인을 따라 0으로 내려가고, 가중치만 되살린 학습률은 워밍업을 처음부터 다시 합니다.",
)
assert max(distances["없음"]) == 0.0 if on_cpu else max(distances["없음"]) < 1e-3
assert min(min(distances[name]) for name in everything) > 0.02
for momentum_lost, schedule_lost, noise_lost in zip(*(distances[name] for name in everything), strict=True):
    assert schedule_lost > max(momentum_lost, noise_lost)
assert rates_seen["스케줄러"][1] > 0.1  # 0으로 끝났어야 합니다
assert rates_seen["옵티마이저"][0] < 0.1 * rates_seen["없음"][0]
letters = dict(zip(everything, ["a", "b", "c"], strict=True))
farthest = max(letters, key=lambda name: median(distances[name]))
reveal("02-14", measured=letters[farthest])

# %% [markdown]
r"""
스케줄러를 되살리지 않으면 워밍업부터 다시 합니다. 끝났어야 할 때 학습률이 아직 높습니다. 그런데 손실 곡선만 보아서는 가중치만 되살린 학습이 이상해 보이지 않습니다. 그래서 「이어졌다」를 눈으로 판단하지 않고 **끊지 않은 학습과 가중치를 비교합니다.** 이 실험에서는 넷을 모두 되살리면 CPU에서 마지막 비트까지 같았습니다(옵티마이저를 빠뜨린 줄은 첫 학습률부터 다릅니다. 지금 학습률도 옵티마이저의 상태입니다). 배치를 실험이 손으로 주었고, 정밀도가 float32였기 때문입니다. 그렇지 않을 때는 두 가지가 더 있어야 합니다.

하나는 **로더**입니다. 에폭 중간에 끊었다면 다음 배치부터 주어야 합니다. 이미 본 배치를 건너뛰면 될까요? 섞는 순서를 정하는 제너레이터의 상태를, 에폭을 시작할 때와 끊은 순간에 각각 저장해 두고 이어 봅니다.
"""


# %%
def shuffled_loader(state=None):
    """20개를 섞어 4개씩 주는 로더와 그 제너레이터입니다. state가 있으면 그 상태에서 시작합니다."""
    generator = torch.Generator().manual_seed(0)
    if state is not None:
        generator.set_state(state)
    return DataLoader(range(20), 4, shuffle=True, generator=generator), generator


loader, generator = shuffled_loader()
at_start = generator.get_state()
epoch_batches = iter(loader)
next(epoch_batches), next(epoch_batches)  # 두 배치를 보고 끊었습니다
in_the_middle = generator.get_state()
rest = [batch.tolist() for batch in epoch_batches]
continued = {}
for moment, state in {"에폭을 시작할 때": at_start, "끊은 순간": in_the_middle}.items():
    continued[moment] = [batch.tolist() for batch in shuffled_loader(state)[0]][2:]
    same = "같습니다" if continued[moment] == rest else "다릅니다"
    print(f"{moment}의 상태에서 두 배치를 건너뛰면, 나머지 배치가 {same}")

# %% tags=["folded"]
# 확인: 두 지점에서 이어 간 배치
assert continued["에폭을 시작할 때"] == rest
assert continued["끊은 순간"] != rest

# %% [markdown]
r"""
순서는 에폭을 시작할 때 제너레이터에서 한꺼번에 뽑습니다. 끊은 순간의 상태에서 다시 시작하면 다음 에폭의 순서가 나옵니다. 그래서 저장할 것은 **에폭을 시작하기 전의 상태**와 그 에폭에서 본 배치의 수입니다.

다른 하나는 **스케일러**입니다. 3절에서 손실에 1,000만을 곱한 학습은 맞는 배율을 찾느라 처음에 20스텝 남짓을 버렸습니다. 60스텝에서 끊고 스케일러만 새로 만들면 어떻게 되는지 봅니다.
"""


# %%
def skipped_after(seed, *, restore):
    """60스텝에서 스케일러를 새로 만든 다음 30스텝 동안 건너뛴 스텝의 수입니다."""
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    scaler = torch.amp.GradScaler(device.type)
    skipped = 0
    for step, (xb, yb) in enumerate(make_batches(seed, epochs=2)):
        if step == 60:
            saved = scaler.state_dict()
            scaler = torch.amp.GradScaler(device.type)
            if restore:
                scaler.load_state_dict(saved)
        opt.zero_grad()
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(model(xb), yb) * 1e7
        scale = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        skipped += step >= 60 and scaler.get_scale() < scale
    return skipped


# %% tags=["folded"]
# 확인: 시드 6개에서 되살렸을 때와 새로 만들었을 때를 비교합니다
lost_steps = {
    how: [skipped_after(seed, restore=restore) for seed in range(6)]
    for how, restore in {"새 스케일러": False, "되살린 스케일러": True}.items()
}
for how, counts in lost_steps.items():
    print(f"{how}: 이어 간 30스텝 가운데 건너뛴 스텝, 시드마다 {counts}")
assert min(lost_steps["새 스케일러"]) > 10
assert max(lost_steps["되살린 스케일러"]) <= 2

# %% [markdown]
r"""
스케일러에도 `state_dict()`가 있습니다. 빠뜨리면 맞는 배율을 처음부터 다시 찾습니다. 보통은 몇 스텝이지만, 여기서처럼 배율이 기본값에서 멀면 수십 스텝일 수도 있습니다.

**연습 6과 7이 지키는 것을 정확히 말해 둡니다.** `BestCheckpoint`의 파일에는 모델, 옵티마이저, 스케줄러, 스텝 수, 점수, 설정이 있습니다. 난수, 로더의 제너레이터, 스케일러는 **없습니다.** 그래서 드롭아웃을 쓰거나, 로더가 섞거나, float16으로 학습하면 이어 간 학습은 끊지 않은 학습과 비트까지 같지는 않습니다. 비트까지 같아야 하는 학습이라면 이 절에서 한 것처럼 셋을 더 저장합니다. 보너스 2가 그 일을 합니다.

### 연습 7. `resume`

약 15분 · ★☆☆

`BestCheckpoint`가 쓴 파일에서 셋을 되살리고 스텝 수를 돌려줍니다.
"""


# %% tags=["exercise:resume"]
def resume(path, *, model, opt, scheduler) -> int:
    """BestCheckpoint가 쓴 파일에서 모델, 옵티마이저, 스케줄러를 되살리고, 저장할 때까지 한 스텝 수를 돌려줍니다."""
    # BEGIN SOLUTION
    # GPU에서 저장한 파일도 CPU에서 열립니다. 장치는 load_state_dict가 맞춥니다
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["step"]
    # END SOLUTION


# %% tags=["check"]
check(resume)

# %% [markdown]
r"""
### 보너스 2. `Snapshot`

약 40분 · ★★★

이것도 점수에 들어가지 않고 힌트도 없습니다. `resume`이 되살리지 않는 것까지 파일 하나에 남겨, 마지막 비트까지 같게 이어 갑니다. 드롭아웃이 있고, `np.random`과 `random`으로 데이터를 증강하고, 로더가 섞고, 스케일러를 쓰는 학습입니다. 스케줄러는 쓰지 않습니다. 에폭을 시작하기 직전에 `save`를 부릅니다. 그리고 **다른 프로세스에서** 모델, 옵티마이저, 스케일러, 제너레이터를 새로 만들고, 그것들로 만든 `Snapshot`의 `load`를 부릅니다. 이어 간 학습은 끊지 않은 학습과 비트까지 같아야 합니다.

난수의 상태는 라이브러리마다 타입이 다릅니다. `weights_only=True`로 열리지 않는 것이 섞여 있으니 먼저 하나씩 찍어 보세요. `scaler`를 주고 만든 `Snapshot`으로 저장했으면 되살릴 때도 `scaler`를 줍니다. `loader_generator`도 그렇습니다.
"""


# %% tags=["exercise:Snapshot"]
class Snapshot:
    """에폭을 시작하는 순간의 학습 상태를 파일 하나에 모두 남기고, 새로 만든 객체로 그대로 이어 갑니다."""

    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        """scaler: torch.amp.GradScaler, loader_generator: 섞는 DataLoader의 torch.Generator입니다. 없으면 None입니다."""
        # BEGIN SOLUTION
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator
        # END SOLUTION

    def save(self, path) -> None:
        """부른 순간의 상태를 path(str이나 Path)의 파일 하나에 씁니다. 파일 이름은 받은 그대로입니다.

        모델, 옵티마이저, 스케일러와 loader_generator(있으면), 전역 난수의 상태를 담습니다.
        전역 난수는 random, np.random, torch(CPU와, 있으면 모든 GPU)의 것입니다.
        파일은 torch.load(path, weights_only=True)로 열려야 합니다. 난수를 뽑지 않고, 아무 상태도 바꾸지 않습니다.
        모드와 남아 있던 그레이디언트도 그대로 둡니다.
        """
        # BEGIN SOLUTION
        # NumPy 배열은 weights_only=True로 열리지 않으므로 평범한 리스트로 바꿉니다
        name, keys, *rest = np.random.get_state()
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "random": random.getstate(),
            "numpy": (name, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all(),
        }
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            state["loader"] = self.loader_generator.get_state()
        torch.save(state, path)
        # END SOLUTION

    def load(self, path) -> None:
        """save가 쓴 파일의 상태를 이 Snapshot이 받은 객체들과 전역 난수에 되돌립니다.

        파일은 다른 이름으로 옮겨졌을 수 있습니다. 한 Snapshot으로 여러 번 저장하고 여러 번 불러올 수 있습니다.
        같은 경로에 다시 저장하면 파일을 덮어쓰고, 불러온 파일은 그대로 둡니다.
        모드는 바꾸지 않습니다.
        """
        # BEGIN SOLUTION
        # 난수의 상태는 CPU의 텐서여야 합니다. 나머지는 load_state_dict가 장치를 맞춥니다
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["optimizer"])
        random.setstate(state["random"])
        np.random.set_state(state["numpy"])
        torch.set_rng_state(state["torch"])
        torch.cuda.set_rng_state_all(state["cuda"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.set_state(state["loader"])
        # END SOLUTION


# %% tags=["check"]
check(Snapshot)

# %% [markdown]
r"""
## 8. `train`: 여섯 부품을 하나로

약 10분 · ★☆☆

부품이 다 모였습니다. 50줄쯤이면 됩니다. 쓰기 전에 순서를 소리 내어 읽어 보세요.

1. **시드**를 정합니다. 무엇보다 먼저입니다.
2. 모델을 장치로 옮기고, AdamW와 **스케줄러**와 체크포인트를 만듭니다.
3. 에폭마다 학습 모드(train mode)로 시작합니다.
4. 배치마다 그레이디언트를 지우고, **autocast** 안에서 순전파하고, 밖에서 역전파합니다.
5. 배율을 되돌리고, **클리핑하고**, 업데이트하고, 배율을 고치고, 학습률을 한 칸 옮깁니다.
6. 에폭이 끝나면 평가 모드, `no_grad()`, float32로 **검증합니다.** 모든 샘플을 셉니다.
7. 점수가 가장 높으면 **설정**과 함께 저장합니다.
8. 학습 모드로 끝내고, 가장 높은 정확도를 돌려줍니다.

4번과 5번의 순서는 지금까지의 실험이 하나씩 정한 것입니다. 외우지 말고, 한 줄을 옮기면 무엇이 깨지는지 떠올려 보세요.

### 연습 8. `train`

약 60분 · ★★★

앞에서 쓴 `seed_everything`, `warmup_cosine`, `BestCheckpoint`를 부릅니다. 그 셋부터 통과하고 시작하세요. 하나라도 틀려 있으면 여기서도 결과가 달라지는데, 어느 것 때문인지는 알기 어렵습니다. float16이면 스케일러가 필요하고, bfloat16과 float32이면 필요 없습니다.
"""


# %% tags=["exercise:train"]
def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    """cfg대로 처음부터 끝까지 학습하고, 가장 높은 검증 정확도를 돌려줍니다. 두 로더에는 배치가 하나 이상 있습니다.

    AdamW, 교차 엔트로피, 클리핑, 스텝마다 warmup_cosine을 씁니다. cfg.amp_dtype이 있으면 autocast 안에서 순전파하고,
    float16이면 학습이 끝날 때까지 GradScaler 하나를 씁니다. 체크포인트의 step은 그때까지 한 업데이트의 수입니다.
    에폭마다 평가 모드, float32로 val_loader의 모든 샘플에서 정확도를 재고, 가장 좋을 때를 BestCheckpoint로 남깁니다.
    지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    모델에는 마지막 가중치가 남고, 학습 모드로 끝납니다.
    """
    # BEGIN SOLUTION
    # 1. 준비: 시드가 가장 먼저입니다
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # float16만 스케일러를 켭니다. amp_dtype이 None이면 autocast도 꺼져 있습니다
    device_type = torch.device(device).type
    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(device_type, enabled=amp_dtype is torch.float16)

    model.train()
    for epoch in range(cfg.epochs):
        # 2. 학습: 지우기, 순전파, 역전파, 클리핑, 업데이트, 학습률
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            opt.zero_grad()
            with torch.autocast(device_type, dtype=amp_dtype, enabled=amp_dtype is not None):
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            step += 1

        # 3. 검증: 평가 모드로 재고, 학습 모드로 되돌립니다
        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb.to(device)).argmax(dim=1)
                num_correct += (predicted == yb.to(device)).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 4. 가장 좋은 순간을 파일로 남깁니다
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train)

# %% [markdown]
r"""
다 썼으면 진짜 데이터로 돌려 봅니다.
"""

# %%
try:
    cfg = TrainConfig(lr=0.01, epochs=5, warmup_steps=22, total_steps=225)
    train_loader = DataLoader(
        TensorDataset(x_train, y_train), cfg.batch_size, shuffle=True, generator=seed_everything(cfg.seed)
    )
    val_loader = DataLoader(TensorDataset(x_val, y_val), 512, generator=torch.Generator())
    best = train(
        make_model(cfg.seed),
        train_loader,
        val_loader,
        cfg,
        device=device,
        checkpoint_path=folder / "train.pt",
    )
    stored = torch.load(folder / "train.pt", weights_only=True)
    print(
        f"가장 높은 검증 정확도 {best:.3f}, 저장한 스텝 {stored['step']}, 저장된 학습률 {stored['config']['lr']}"
    )
except (NotImplementedError, TypeError) as error:
    print(f"TrainConfig부터 train까지 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
자기 데이터로 학습할 때는 빈 루프에서 시작합니다. 이 노트북 옆의 [loop_template.py](loop_template.py)에 번호가 붙은 빈칸 13개가 있습니다. 아무것도 보지 않고 모두 채울 수 있으면 이 루프를 다 익힌 것입니다. 그 파일은 채점하지 않습니다.

## 9. 같은 학습을 프레임워크로

약 20분 · ★★☆

프레임워크는 이 50줄의 일부를 대신 씁니다. 얻는 것은 여러 GPU, 분산 학습, 로그입니다. 대가는 보이지 않게 되는 줄입니다. 손으로 한 번 써 본 다음이면 무엇이 사라졌는지 압니다.

**예측 15.** 손으로 쓴 루프를 Accelerate, Lightning, Transformers의 Trainer로 옮깁니다. 옵티마이저와 가중치 감쇠(weight decay), 스케줄, 클리핑을 넷 모두에 같은 값으로 적습니다. 초기 가중치와 배치 순서도 같고, 정밀도는 float32입니다. 네 손실 곡선은 얼마나 다를까요? 이 절의 끝에서 잽니다.

- a: 소수점 여섯째 자리까지 같습니다.
- b: 1000분의 1쯤 다릅니다. 계산하는 순서가 저마다 다릅니다.
- c: 눈에 띄게 다릅니다. 프레임워크마다 기본값이 다릅니다.
"""

# %% tags=["predict"]
predict("02-15")

# %% [markdown]
r"""
가장 얇은 것은 Hugging Face Accelerate입니다. 루프는 그대로 두고 몇 줄만 바꿉니다.

| 손으로 쓴 줄 | Accelerate |
|---|---|
| `model.to(device)`, `xb.to(device)` | `accelerator.prepare(model, opt, scheduler, …)` |
| `torch.autocast(…)` | `Accelerator(mixed_precision=…)`와 `accelerator.autocast()` |
| `scaler.scale(loss).backward()` | `accelerator.backward(loss)` |
| `scaler.unscale_(opt)`와 클리핑 | `accelerator.clip_grad_norm_(…)` |
| `scaler.step(opt)`, `scaler.update()` | `opt.step()` |
| 검증할 때 맞힌 수 세기 | `accelerator.gather_for_metrics(…)`로 모은 다음 세기 |
| `model.state_dict()` | `accelerator.unwrap_model(model).state_dict()` |

`prepare`가 돌려준 것을 써야 합니다. 돌려받지 않은 로더는 프로세스가 여럿일 때 모두에게 같은 배치를 줍니다. 감싼 모델을 그대로 저장하면 이름마다 `module.`이 붙어 다른 곳에서 열리지 않습니다. 프로세스가 하나면 둘 다 아무 일 없이 지나갑니다.

### 연습 9. `train_accelerate`

약 40분 · ★★☆

`train`과 같은 학습을 Accelerate로 옮깁니다. float32에서 마지막 가중치가 `train`과 같아야 합니다.
"""


# %% tags=["exercise:train_accelerate"]
def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    """train과 같은 학습을 Hugging Face Accelerate에 맡깁니다. 가장 높은 검증 정확도를 돌려줍니다.

    모델, 옵티마이저, train_loader를 prepare에 넘기고, 역전파와 클리핑도 Accelerator에 맡깁니다.
    cfg.amp_dtype이 None이면 float32로 계산하고, "bfloat16"이어도 오류 없이 끝까지 학습합니다.
    체크포인트에는 prepare가 감싸기 전의 모델을 담습니다. 지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    모델에는 마지막 가중치가 남고, 학습 모드로 끝납니다.
    """
    # BEGIN SOLUTION
    from accelerate import Accelerator

    seed_everything(cfg.seed)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # 장치로 옮기고, 프로세스가 여럿이면 나누고 감싼 것을 돌려받습니다
    model, opt, scheduler = accelerator.prepare(model, opt, scheduler)
    train_loader, val_loader = accelerator.prepare(train_loader, val_loader)

    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            # 배율, 프로세스 사이의 평균은 여기서 합니다
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1

        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb).argmax(dim=1)
                # 프로세스마다 본 샘플을 모읍니다
                predicted, yb = accelerator.gather_for_metrics((predicted, yb))
                num_correct += (predicted == yb).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 감싼 모델이 아니라 원래 모델을 저장합니다
        if accelerator.is_main_process:
            unwrapped = accelerator.unwrap_model(model)
            checkpoint.update(accuracy, model=unwrapped, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train_accelerate)

# %% [markdown]
r"""
### 네 가지로 쓴 학습

예측 15를 잽니다. 손으로 쓴 루프, Accelerate, Lightning, Transformers의 Trainer 차례이고, 뒤의 둘은 설치했을 때만 실행됩니다. 옵티마이저, 스케줄, 클리핑을 넷 모두에 빠짐없이 적었습니다.

네 함수는 접어 두었습니다. 앞의 둘은 연습 8, 9에서 쓴 것과 같은 줄입니다. Lightning과 Trainer를 써 본 적이 없다면 펼쳐서, 손으로 쓴 줄이 저마다 어디로 갔는지 찾아보세요.
"""


# %% tags=["folded"]
# 손으로 쓴 루프와 시간을 재는 함수
def clock():
    """CPU에서는 다른 프로그램에 덜 흔들리는 CPU 시간을, GPU에서는 끝나기를 기다려 벽시계를 읽습니다."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def by_hand(model, train_loader, val_loader, cfg, journal):
    torch.manual_seed(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    best = -math.inf
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            journal.append((loss.item(), clock()))
        model.eval()
        num_correct = num_samples = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                num_correct += (model(xb.to(device)).argmax(dim=1) == yb.to(device)).sum().item()
                num_samples += len(yb)
        if num_correct / num_samples > best:
            best = num_correct / num_samples
            state = {"model": model.state_dict(), "opt": opt.state_dict(), "config": asdict(cfg)}
            torch.save(state, folder / "hand.tmp")
            os.replace(folder / "hand.tmp", folder / "hand.pt")
    return best


# %% tags=["folded"]
# Accelerate
def with_accelerate(model, train_loader, val_loader, cfg, journal):
    from accelerate import Accelerator

    torch.manual_seed(cfg.seed)
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    best = -math.inf
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            journal.append((loss.item(), clock()))
        model.eval()
        num_correct = num_samples = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted, yb = accelerator.gather_for_metrics((model(xb).argmax(dim=1), yb))
                num_correct += (predicted == yb).sum().item()
                num_samples += len(yb)
        if num_correct / num_samples > best:
            best = num_correct / num_samples
            accelerator.save_state(folder / "accelerate")
    return best


# %% tags=["folded"]
# Lightning
def with_lightning(model, train_loader, val_loader, cfg, journal, interval=None):
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Digits(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch, batch_idx):
            xb, yb = batch
            loss = F.cross_entropy(self.model(xb), yb)
            journal.append((loss.item(), clock()))
            return loss

        def validation_step(self, batch, batch_idx):
            xb, yb = batch
            correct = (self.model(xb).argmax(dim=1) == yb).float().mean()
            self.log("accuracy", correct, batch_size=len(yb))

        def configure_optimizers(self):
            opt = torch.optim.AdamW(self.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
            plan = {"scheduler": warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)}
            if interval is not None:
                plan["interval"] = interval
            return {"optimizer": opt, "lr_scheduler": plan}

    lightning.seed_everything(cfg.seed, verbose=False)
    best = ModelCheckpoint(folder / "lightning", monitor="accuracy", mode="max")
    trainer = lightning.Trainer(
        max_epochs=cfg.epochs, gradient_clip_val=cfg.max_norm, callbacks=[best], devices=1, **QUIET
    )
    trainer.fit(Digits(), train_loader, val_loader)
    return best.best_model_score.item()


# %% tags=["folded"]
# Transformers의 Trainer
def with_trainer(model, train_loader, val_loader, cfg, journal):
    from transformers import PrinterCallback, Trainer, TrainingArguments

    def as_dict(samples):
        return {
            "xb": torch.stack([xb for xb, _ in samples]),
            "labels": torch.stack([yb for _, yb in samples]),
        }

    class Digits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, xb, labels):
            logits = self.model(xb)
            loss = F.cross_entropy(logits, labels)
            if self.training:
                journal.append((loss.item(), clock()))
            return {"loss": loss, "logits": logits}

    class SameOrder(Trainer):  # 배치 순서를 맞추려고 로더를 그대로 씁니다
        def get_train_dataloader(self):
            train_loader.collate_fn = as_dict
            return train_loader

    wrapped = Digits().to(device)
    opt = torch.optim.AdamW(wrapped.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    args = TrainingArguments(
        output_dir=folder / "trainer",
        num_train_epochs=cfg.epochs,
        per_device_train_batch_size=cfg.batch_size,
        per_device_eval_batch_size=512,
        max_grad_norm=cfg.max_norm,
        eval_strategy="epoch",
        save_strategy="best",
        metric_for_best_model="accuracy",
        seed=cfg.seed,
        use_cpu=on_cpu,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
    )
    trainer = SameOrder(
        wrapped,
        args,
        data_collator=as_dict,
        train_dataset=train_loader.dataset,
        eval_dataset=val_loader.dataset,
        compute_metrics=lambda found: {
            "accuracy": float((found.predictions.argmax(1) == found.label_ids).mean())
        },
        optimizers=(opt, warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.state.best_metric


# %% tags=["folded"]
# 준비: 설치된 프레임워크를 모읍니다. Lightning의 진행 막대와 안내 문구, 학습 전에 해 보는 검증을 끕니다
QUIET = {
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
}

WAYS = {"손으로": (by_hand, None), "Accelerate": (with_accelerate, "accelerate")}
if importlib.util.find_spec("lightning"):
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    WAYS["Lightning"] = (lambda *args: with_lightning(*args, interval="step"), "lightning")
    WAYS["Lightning, interval 없음"] = (with_lightning, "lightning")
else:
    print("Lightning이 없어서 건너뜁니다. 설치: pip install lightning")
if importlib.util.find_spec("transformers"):
    import transformers

    transformers.logging.set_verbosity_error()
    WAYS["Trainer"] = (with_trainer, "transformers")
else:
    print("Transformers가 없어서 건너뜁니다. 설치: pip install transformers")


# %%
def digit_loaders(seed):
    """부를 때마다 같은 배치 순서를 주는 새 로더입니다."""
    generator = torch.Generator().manual_seed(seed)
    train_loader = DataLoader(TensorDataset(x_train, y_train), 32, shuffle=True, generator=generator)
    return train_loader, DataLoader(TensorDataset(x_val, y_val), 512, generator=torch.Generator())


cfg = RunConfig()
journals, best_scores, step_times = {}, {}, {}
for name, (way, _) in WAYS.items():
    for _ in range(2):  # 두 번째가 빠른 쪽입니다. 처음에는 import와 준비가 섞입니다
        journals[name] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best_scores[name] = way(make_model(seed=0), *digit_loaders(seed=0), cfg, journals[name])
        times = [when for _, when in journals[name]]
        middle = median(after - before for before, after in zip(times, times[1:], strict=False))
        step_times[name] = min(middle, step_times.get(name, math.inf))
    print(f"{name}: 가장 높은 검증 정확도 {best_scores[name]:.4f}")

# %% tags=["folded"]
# 그림과 확인: 손실 곡선을 겹칩니다
curves = {name: [loss for loss, _ in journal] for name, journal in journals.items()}
gaps = {
    name: max(abs(ours - theirs) for ours, theirs in zip(curve, curves["손으로"], strict=True))
    for name, curve in curves.items()
}
figure, axis = plt.subplots()
looks = {
    "손으로": {"color": COLORS["right"], "linewidth": 6, "alpha": 0.5},
    "Accelerate": {"color": COLORS["third"], "linewidth": 2.5},
    "Lightning": {"color": COLORS["fourth"], "linestyle": "--"},
    "Trainer": {"color": COLORS["text"], "linestyle": ":"},
    "Lightning, interval 없음": {"color": COLORS["wrong"], "linewidth": 1.2},
}
for name, curve in curves.items():
    axis.plot(curve, label=name, **looks[name])
axis.set(xlabel="스텝", ylabel="배치 손실", ylim=(0, 3.2))
axis.set_title("같은 설정, 같은 배치, 다른 프레임워크")
axis.legend(loc="upper right", ncols=2)
caption = f"손실 곡선 {len(WAYS)}개. 손으로 쓴 루프와 프레임워크의 곡선이 한 줄로 겹칩니다."
if "Lightning" in WAYS:
    caption += " interval을 적지 않은 Lightning 곡선 하나만 위로 떨어져 천천히 내려갑니다."
show(figure, caption)
for name, gap in gaps.items():
    assert (gap > 0.1) if "없음" in name else (gap < (1e-6 if on_cpu else 1e-2))
largest_gap = max(gap for name, gap in gaps.items() if "없음" not in name)
reveal("02-15", measured="a" if largest_gap < 1e-6 else "b" if largest_gap < 1e-2 else "c")


# %% tags=["folded"]
# 표와 확인: 줄 수와 시간
def code_lines(function):
    """빈 줄과 주석을 뺀 줄 수입니다. 재려고 넣은 journal 줄도 뺍니다."""
    lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    return sum(bool(line) and not line.startswith("#") and "journal.append" not in line for line in lines)


functions = {
    "손으로": by_hand,
    "Accelerate": with_accelerate,
    "Lightning": with_lightning,
    "Trainer": with_trainer,
}
rows = []
for name, function in functions.items():
    row = [name, code_lines(function), "설치하지 않음", "", "", ""]
    if name in curves:
        added = 1e6 * (step_times[name] - step_times["손으로"])
        row[2:] = [
            f"{best_scores[name]:.4f}",
            f"{gaps[name]:.0e}",
            f"{1e6 * step_times[name]:.0f} µs",
            f"{added:+.0f} µs",
        ]
        assert abs(best_scores[name] - best_scores["손으로"]) < (1e-6 if on_cpu else 0.02)
    rows.append(row)
show_table(["", "줄 수", "가장 높은 정확도", "손실 곡선의 최대 차이", "한 스텝", "더한 시간"], rows)
assert min(map(code_lines, functions.values())) >= code_lines(by_hand) - 3  # 거의 줄지 않습니다
extra = step_times["Accelerate"] - step_times["손으로"]

# 큰 모델의 한 스텝과 비교해 봅니다
torch.manual_seed(9)
large = nn.Sequential(
    nn.Linear(64, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 10)
).to(device)
opt = torch.optim.AdamW(large.parameters(), lr=1e-3)
begin = clock()
for _ in range(3):
    opt.zero_grad()
    loss_fn(large(x_train[:512]), y_train[:512]).backward()
    opt.step()
large_step = (clock() - begin) / 3
print(
    f"큰 모델의 한 스텝은 {1e3 * large_step:.0f} ms입니다. Accelerate가 더한 시간은 그 {extra / large_step:.1%}입니다"
)
if on_cpu:
    assert large_step > 10 * step_times["손으로"]

# %% [markdown]
r"""
기본값에 기대지 않고 모두 적으면 같은 학습입니다. 같은 일을 빠짐없이 적으면 줄 수는 거의 줄지 않습니다. 줄어드는 것은 쓰지 않아도 되는 줄, 곧 분산 학습과 재시작입니다. 더하는 시간은 대개 스텝마다 붙는 고정 비용입니다. 이 노트북의 작은 모델에서는 비율이 커 보이지만 큰 모델에서는 묻힙니다. **프레임워크를 고르는 기준은 줄 수나 속도가 아니라 무엇이 보이지 않게 되는가입니다.**

| | 루프를 쓰는 사람 | 보이지 않는 것 | 말없이 정하는 것 |
|---|---|---|---|
| Accelerate | 나 | 장치, 배율, 프로세스 사이의 평균 | 스텝을 건너뛰면 학습률도 기다립니다. 프로세스가 $n$개면 스케줄러를 $n$번 부릅니다 |
| Lightning | 프레임워크 | 장치와 배율, 지우기부터 업데이트까지의 순서, 모드, 저장 | 스케줄러를 **에폭마다** 부릅니다. 클리핑은 하지 않습니다 |
| Trainer | 프레임워크 | 위의 모두와 스케줄러, 로더 | 노름 1.0으로 클리핑하고, 0까지 직선으로 감쇠하고, 편향(bias)은 가중치 감쇠에서 뺍니다 |

Lightning을 설치했다면 그림에서 곡선 하나가 혼자 떨어져 있을 것입니다. `"interval": "step"`을 적지 않은 기본값입니다. 스텝으로 계획한 스케줄을 에폭마다 한 칸씩 옮기므로, 세 에폭 내내 워밍업의 첫 세 칸에 있습니다. 오류는 없습니다.

표의 기본값 가운데 프로세스 하나에서 볼 수 있는 것은 설치된 것에서 바로 확인합니다.
"""

# %%
from accelerate.optimizer import AcceleratedOptimizer
from accelerate.scheduler import AcceleratedScheduler

# Accelerate: 첫 스텝은 inf라서 건너뛰고, 둘째 스텝은 업데이트합니다
weight = nn.Parameter(torch.ones(1, device=device))
scaler = torch.amp.GradScaler(device.type, init_scale=1.0)
opt = AcceleratedOptimizer(torch.optim.SGD([weight], lr=1.0), scaler=scaler)
scheduler = AcceleratedScheduler(torch.optim.lr_scheduler.ExponentialLR(opt.optimizer, gamma=0.5), opt)
rates = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # 준비한 다음에 step을 감쌌다는 경고입니다
    for factor in [math.inf, 1.0]:
        opt.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        opt.step()
        scheduler.step()
        rates.append(opt.param_groups[0]["lr"])
print("Accelerate의 학습률:", rates, "— 건너뛴 스텝에서는 그대로입니다")

# %% tags=["folded"]
# 확인: 두 학습률
assert rates == [1.0, 0.5]

# %% tags=["folded"]
# 확인: Lightning과 Trainer의 기본값
if "Lightning" in WAYS:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default_clip = lightning.Trainer(**QUIET, enable_checkpointing=False).gradient_clip_val
    print("Lightning의 클리핑:", default_clip)
    assert default_clip is None

if "Trainer" in WAYS:
    defaults = transformers.TrainingArguments(folder / "defaults", use_cpu=on_cpu)
    decayed = transformers.Trainer(make_model(seed=0), defaults).get_decay_parameter_names(make_model(seed=0))
    print("Trainer의 클리핑:", defaults.max_grad_norm, "스케줄:", defaults.lr_scheduler_type.value)
    print("Trainer가 가중치 감쇠를 하는 매개변수:", decayed)
    assert defaults.max_grad_norm == 1.0
    assert defaults.lr_scheduler_type == "linear"
    assert decayed == ["0.weight", "3.weight"]

if len(WAYS) == 2:
    print("Lightning과 Transformers가 없어서 건너뜁니다.")

# %% [markdown]
r"""
처음 한 번은 손으로 쓰고, 같은 일을 되풀이하게 되면 프레임워크로 옮기세요. 옮길 때는 이 절에서 한 것처럼 **배치 순서를 맞추고 손실 곡선을 겹쳐 봅니다.** 겹치지 않으면 말없이 정해진 것이 있습니다.

## 10. 버그 찾기

약 30분 · ★★★

「완성된 학습 루프」라고 소개되는 코드에 되풀이해 나오는 오류 다섯 개입니다. 코드는 모두 새로 썼습니다. **읽고, 고른 다음, 실행하세요.** 설명은 접혀 있습니다.

### 루프 1

「bfloat16과 스케일러를 모두 갖춘 루프입니다.」 스케일러에 관한 줄을 모두 빼고 `loss.backward()`, `opt.step()`으로 바꾸면 가중치는 어떻게 될까요?

- a: 비트까지 같습니다.
- b: 언더플로 때문에 나빠집니다.
- c: 반올림 때문에 조금 다릅니다.
"""


# %% tags=["find-the-bug"]
def loop_1(model, opt, batches, clear=True):
    scaler = torch.amp.GradScaler(device.type)
    for xb, yb in batches:
        if clear:
            opt.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = loss_fn(model(xb), yb)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()


# %% tags=["predict"]
predict("02-bug1")


# %%
def loop_1_without(model, opt, batches, clear=True):
    for xb, yb in batches:
        if clear:
            opt.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = loss_fn(model(xb), yb)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        opt.step()


def weights_after(loop, **settings):
    model = make_model(seed=20)
    loop(model, torch.optim.SGD(model.parameters(), lr=0.3), make_batches(seed=20, epochs=2), **settings)
    return flat(model.parameters())


# %% tags=["folded"]
# 표와 확인: 스케일러를 뺀 루프, 그리고 zero_grad()까지 빠뜨린 두 루프
reference = weights_after(loop_1_without)
difference = {
    "스케일러를 뺌": apart(reference, weights_after(loop_1)),
    "스케일러 없이 `zero_grad()`를 빠뜨림": apart(reference, weights_after(loop_1_without, clear=False)),
    "스케일러를 두고 `zero_grad()`를 빠뜨림": apart(reference, weights_after(loop_1, clear=False)),
}
show_table(
    ["바꾼 것", "바른 루프와의 최대 차이"], [[name, f"{value:.1e}"] for name, value in difference.items()]
)
without, hidden, masked = difference.values()
assert without == 0.0 if on_cpu else without < 1e-2
if on_cpu:
    assert hidden > 0.1
    assert 0 < masked < hidden / 50
reveal("02-bug1", measured="a" if without == 0.0 else "c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

배율이 2의 거듭제곱이라 곱했다가 나누면 비트까지 똑같이 돌아옵니다. 쓸모없을 뿐 아니라 해롭습니다. 표의 아래 두 줄을 보세요. `zero_grad()`를 빠뜨린 버그는 스케일러가 없으면 크게 드러납니다. 스케일러가 있으면 남아 있던 그레이디언트가 다음 스텝의 `unscale_`에서 65536으로 한 번 더 나뉘어 거의 사라집니다. **스케일러가 버그를 숨깁니다.** 그래서 이 강의의 채점기는 지우기를 스케일러 없이도 확인합니다.

bfloat16이면 스케일러를 빼거나 `enabled=False`로 둡니다.

</details>

### 루프 2

오래된 글에서 옮겨 온 루프입니다. **GPU가 없는 컴퓨터**에서 실행하면 로짓의 자료형은 무엇일까요?

- a: bfloat16
- b: float32
- c: 오류가 나서 알 수 없습니다.
"""


# %% tags=["find-the-bug"]
def loop_2(model, opt, batches):
    from torch.cuda.amp import GradScaler, autocast

    scaler = GradScaler()
    for xb, yb in batches:
        opt.zero_grad()
        with autocast(dtype=torch.bfloat16):
            logits = model(xb)
            loss = loss_fn(logits, yb)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    return logits.dtype


# %% tags=["predict"]
predict("02-bug2")

# %%
model = make_model(seed=21)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = loop_2(model, torch.optim.SGD(model.parameters(), lr=0.1), make_batches(seed=21)[:2])
print("로짓의 자료형:", found)
for warning in {(w.category.__name__, str(w.message).split(". ")[0][:80]) for w in caught}:
    print("   ", *warning)

# %% tags=["folded"]
# 확인: 경고의 종류와 로짓의 자료형
assert any(issubclass(w.category, FutureWarning) for w in caught)
if on_cpu:
    assert found is torch.float32
reveal("02-bug2")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`torch.cuda.amp`는 더는 쓰지 않는 이름입니다. GPU가 없으면 혼합 정밀도가 통째로 꺼진 채 학습이 끝까지 갑니다. CPU에서 시험한 사람은 혼합 정밀도를 시험하지 않은 것입니다. `torch.autocast(xb.device.type, dtype=...)`과 `torch.amp.GradScaler(device_type)`을 쓰면 어느 장치에서나 같은 코드가 같은 일을 합니다.

</details>

### 루프 3

정확도로 잘 돌던 루프에서 점수만 「음의 검증 손실」로 바꾸었습니다. 높을수록 좋은 점수인 것은 같습니다. 세 에폭 뒤 `path`의 파일은 어떨까요?

- a: 가장 좋았던 에폭의 모델이 있습니다.
- b: 마지막 에폭의 모델이 있습니다.
- c: 파일이 없습니다.
"""


# %% tags=["find-the-bug"]
def loop_3(model, opt, batches, epochs, path):
    best = 0.0
    for epoch in range(epochs):
        for xb, yb in batches:
            opt.zero_grad()
            loss_fn(model(xb), yb).backward()
            opt.step()
        with torch.no_grad():
            score = -loss_fn(model(x_val), y_val).item()
        if score > best:
            best = score
            torch.save(model.state_dict(), path)
        print(f"에폭 {epoch + 1}: 점수 {score:.3f}")


# %% tags=["predict"]
predict("02-bug3")

# %%
model = make_model(seed=22)
path = folder / "loop_3.pt"
loop_3(model, torch.optim.SGD(model.parameters(), lr=0.3), make_batches(seed=22), 3, path)
print("파일이 있는지:", "예" if path.exists() else "아니요")

# %% tags=["folded"]
# 확인: 파일이 있는지
assert not path.exists()
reveal("02-bug3")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

`best = 0.0`은 「점수는 언제나 0보다 크다」는 가정입니다. 정확도에서도 첫 점수가 0.0이면 저장하지 않습니다. 검증 데이터가 몇 장뿐인 시험에서는 그럴 수 있습니다. 파일이 없다는 것은 학습이 다 끝난 뒤에 알게 됩니다. `best = None`으로 시작해 첫 점수는 무조건 저장하거나, `-math.inf`로 시작합니다.

</details>

### 루프 4

「실무용 체크포인트」입니다. 모델, 설정, 점수, 스텝 수를 모두 담았습니다. AdamW로 90스텝 학습하고 저장했다가 읽어서 이어 갑니다. 학습률은 그대로입니다. 이어 간 **첫 업데이트**의 길이는 끊지 않았을 때의 몇 배일까요?

- a: 1보다 작습니다. 옵티마이저가 조심스럽게 다시 시작합니다.
- b: 거의 1배. 가중치와 배치가 같습니다.
- c: 세 배가 넘습니다.
"""


# %% tags=["find-the-bug"]
def loop_4_save(model, cfg, score, step, path):
    torch.save({"model": model.state_dict(), "config": asdict(cfg), "score": score, "step": step}, path)


def loop_4_resume(path):
    saved = torch.load(path, weights_only=True)
    model = make_model(saved["config"]["seed"])
    model.load_state_dict(saved["model"])
    opt = torch.optim.AdamW(model.parameters(), lr=saved["config"]["lr"])
    return model, opt, saved["step"]


# %% tags=["predict"]
predict("02-bug4")


# %%
def update(model, opt, batch):
    """한 번 업데이트하고, 가중치가 움직인 만큼과 그때의 그레이디언트를 돌려줍니다."""
    before = flat(model.parameters())
    opt.zero_grad()
    loss_fn(model(batch[0]), batch[1]).backward()
    opt.step()
    return flat(model.parameters()) - before, flat(p.grad for p in model.parameters())


def stop_and_resume(seed):
    """90스텝에서 끊고, (끊지 않은 쪽, 이어 간 쪽)의 다음 업데이트 열 개를 돌려줍니다."""
    cfg = RunConfig(seed=seed)
    batches = make_batches(seed, epochs=3)
    model = make_model(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for batch in batches[:90]:
        update(model, opt, batch)
    loop_4_save(model, cfg, 0.9, 90, folder / "loop_4.pt")
    resumed_model, resumed_opt, step = loop_4_resume(folder / "loop_4.pt")
    whole = [update(model, opt, batch) for batch in batches[90:100]]
    return whole, [update(resumed_model, resumed_opt, batch) for batch in batches[step : step + 10]]


# %% tags=["folded"]
# 확인: 시드 6개에서 업데이트의 길이와, 첫 업데이트에서 가중치마다 움직인 만큼
ratios, full_moves, still = [], [], []
for seed in range(6):
    whole, broken = stop_and_resume(seed)
    ratios.append(
        [(ours.norm() / theirs.norm()).item() for (ours, _), (theirs, _) in zip(broken, whole, strict=True)]
    )
    moved, gradient = broken[0]
    touched = gradient != 0
    full_moves.append((moved[touched].abs() > 0.95 * RunConfig().lr).double().mean().item())
    still.append((~touched).double().mean().item())
by_step = [median(column) for column in zip(*ratios, strict=True)]
print("이어 간 업데이트의 길이 비:", " ".join(f"{ratio:.1f}" for ratio in by_step))
print(
    f"첫 업데이트: 그레이디언트가 0이 아닌 가중치의 {median(full_moves):.1%}가 학습률의 95% 넘게 움직였습니다"
)
print(f"그레이디언트가 0인 가중치: 전체의 {median(still):.0%} (언제나 까만 픽셀에 붙은 것)")
assert min(ratio[0] for ratio in ratios) > 3
assert min(by_step) > 1.2  # 10스텝 뒤에도 아직 큽니다
assert min(full_moves) > 0.95
assert 0.05 < min(still) < max(still) < 0.3
first = median(ratio[0] for ratio in ratios)
reveal("02-bug4", measured="a" if first < 0.9 else "b" if first < 3 else "c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

AdamW는 그레이디언트와 그 제곱의 이동 평균을 `opt.state`에 들고 있습니다. 저장하지 않으면 0에서 다시 모읍니다. 첫 업데이트는 그레이디언트를 자기 크기로 나누어 거의 부호만 남깁니다. 그래서 그레이디언트가 0이 아닌 가중치는 그 크기와 거의 상관없이 학습률만큼 움직입니다(0이면 가중치 감쇠만 받습니다). 학습 막바지에 그렇게 합니다. 10스텝 뒤에도 업데이트가 아직 더 깁니다.

추론(inference)에만 쓸 파일이면 가중치만 있어도 됩니다. 이어서 학습할 파일이면 옵티마이저와 스케줄러가 꼭 있어야 합니다. 7절의 표가 각각의 몫입니다.

</details>

### 루프 5

설정을 객체 그대로 저장합니다. `torch.load(path, weights_only=True)`로 열면 어떻게 될까요? PyTorch 2.6부터 이것이 기본값입니다.

- a: 저장할 때 이미 오류가 납니다.
- b: 저장은 되고, 열 때 오류가 납니다.
- c: 열리고, 설정은 dict로 바뀌어 있습니다.
"""


# %% tags=["find-the-bug"]
def loop_5_save(model, cfg, path):
    torch.save({"model": model.state_dict(), "config": cfg}, path)


# %% tags=["predict"]
predict("02-bug5")

# %%
loop_5_save(make_model(seed=23), RunConfig(), folder / "loop_5.pt")


def opens(value):
    """값 하나를 저장했다가 weights_only=True로 열어 봅니다."""
    torch.save({"config": value}, folder / "value.pt")
    try:
        torch.load(folder / "value.pt", weights_only=True)
    except Exception as error:
        return type(error).__name__
    return "열림"


# %% tags=["folded"]
# 표와 확인: 설정에 넣은 값마다 열리는지 봅니다
tried = {
    "dataclass 객체": opens(RunConfig()),
    "`asdict(cfg)`": opens(asdict(RunConfig())),
    "`Path` 값": opens({"data": Path("digits.csv")}),
    "`np.float64` 점수": opens({"score": np.float64(0.93)}),
    "`torch.bfloat16`": opens({"amp_dtype": torch.bfloat16}),
}
show_table(["config에 넣은 것", "`weights_only=True`로 열면"], tried.items())
assert list(tried.values()) == ["UnpicklingError", "열림", "UnpicklingError", "UnpicklingError", "열림"]
reveal("02-bug5")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

체크포인트는 pickle이고, pickle은 열면서 아무 코드나 실행할 수 있습니다. `weights_only=True`는 텐서와 평범한 값만 엽니다. `False`로 바꾸면 열리기는 하지만, 남이 준 파일에는 해서는 안 되는 일입니다. 게다가 클래스의 이름이나 위치가 바뀌면 자기 파일도 열지 못합니다.

`sklearn`이나 NumPy로 구한 점수는 `np.float64`입니다. `float(score)`로 바꾸어 넣습니다. `vars(cfg)`나 `cfg.__dict__`는 값이 모두 평범할 때만 열립니다. 그래서 `to_dict()`가 평범한 값만 내도록 만들고, `amp_dtype`은 `"bfloat16"` 같은 문자열로 둡니다.

</details>

## 11. 화이트보드

약 20분 · ★★★

위를 보지 말고 float16 한 스텝을 씁니다. 지우기부터 스케줄러까지 아홉 줄쯤입니다. 배율은 켜져 있고, `max_norm`으로 클리핑합니다. 다 쓴 다음 아래 셀들을 실행하면 손으로 계산한 업데이트와 비교합니다.
"""


# %% tags=["whiteboard"]
def amp_from_memory(model, opt, scaler, scheduler, loss_fn, xb, yb, max_norm): ...


# %% tags=["folded"]
# 채점: 스케일러 없이 손으로 계산한 세 스텝과 비교합니다. 다 쓴 다음에 펼치세요
def amp_by_hand(model, batches, *, lr, gamma, max_norm):
    """스케일러도 옵티마이저도 없이, 배율을 곱하고 나누어 가며 직접 계산한 세 스텝입니다."""
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step, (xb, yb) in enumerate(batches):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(torch.func.functional_call(model, leaves, (xb,)), yb)
        scale = 2.0 ** (10 + step)  # 스텝마다 두 배가 되는 배율입니다
        grads = [grad / scale for grad in torch.autograd.grad(loss * scale, list(leaves.values()))]
        shrink = min(1.0, max_norm / (flat(grads).norm().item() + 1e-6))
        rate = lr * gamma**step
        weights = {name: w - rate * shrink * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    return flat(weights.values())


def grade_amp(attempt):
    """세 스텝을 손 계산과 비교합니다. 넷째 배치는 넘치므로 가중치가 그대로이고 배율만 내려가야 합니다."""
    model, batches = make_model(seed=24), make_batches(seed=24)[:4]
    start = flat(model.parameters())
    expected = amp_by_hand(model, batches[:3], lr=0.5, gamma=0.5, max_norm=0.2)
    batches[3] = (batches[3][0] * 1e6, batches[3][1])
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**10, growth_interval=1)
    try:
        for xb, yb in batches:
            attempt(model, opt, scaler, scheduler, loss_fn, xb, yb, 0.2)
    except (RuntimeError, AssertionError) as error:
        return f"PyTorch가 멈췄습니다: {error}"
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, 쓰기 전에 지운 것입니다."
    if not torch.isfinite(result).all():
        return "가중치가 inf나 NaN이 되었습니다. 넘친 스텝을 건너뛰는 것은 누구의 일일까요?"
    tolerance = 1e-7 if on_cpu else 1e-5  # CPU에서는 같은 연산을 같은 순서로 합니다
    if apart(result, expected) < tolerance and scaler.get_scale() == 2.0**12:
        return "모든 줄이 제자리에 있습니다. 가중치와 배율이 손 계산과 같습니다."
    return f"움직이기는 했지만 손 계산과 {apart(result, expected):.0e}만큼 다릅니다. 3절의 표와 4절의 순서를 떠올리고, 지우기부터 스케줄러까지 다 있는지 보세요."


# %%
print(grade_amp(amp_from_memory))
assert "움직이지 않았습니다" in grade_amp(lambda *args: None)

# %% [markdown]
r"""
## 정리

| 부품 | 막아 주는 것 | 기억할 한 줄 |
|---|---|---|
| 설정 | 다시 만들 수 없는 모델, 조용한 오타 | 바뀌지 않게 만들고, 평범한 값으로 바꾸어 체크포인트마다 저장합니다 |
| 시드 | 비교할 수 없는 두 실행 | 맨 위에서 정하고, 로더마다 제너레이터를 따로 줍니다 |
| 혼합 정밀도 | 0이 되는 그레이디언트 | float16에는 스케일러, bfloat16에는 없습니다 |
| 클리핑 | 배치 하나가 망치는 학습 | `unscale_` 다음, `step` 앞입니다 |
| 스케줄 | 처음의 튐, 끝의 흔들림 | 스텝을 세는지 에폭을 세는지는 부르는 자리가 정합니다 |
| 검증과 체크포인트 | 과적합, 반쪽 파일, 이어지지 않는 학습 | 그 순간의 복사본을 옆에 쓰고 이름을 바꿉니다. 옵티마이저와 스케줄러도 담습니다 |

다섯 가지만 기억하세요.

1. 검증을 더하는 것처럼 「읽기만 하는」 줄도 전역 난수를 옮깁니다.
2. 건너뛴 스텝에서 멈추는 것은 `opt.step()`뿐입니다. 스케줄러는 계속 진행됩니다.
3. AdamW는 배율의 실수를 숨기고, 스케일러는 `zero_grad()`의 실수를 숨깁니다. 손실만 보아서는 모릅니다.
4. 「이어졌다」와 「옮겼다」는 눈이 아니라 가중치와 손실 곡선을 겹쳐서 확인합니다. 비트까지 이으려면 난수, 로더, 스케일러도 저장합니다.
5. 프레임워크의 기본값도 누군가 정한 하이퍼파라미터입니다.

복습은 `clinic()`(터미널에서는 `grader clinic`)으로 합니다. 통과한 함수를 조금 고장 낸 코드가 하루에 5분어치씩 나오고, 직접 했던 실수는 며칠 뒤에 다시 나옵니다.

## 더 읽을거리

- [Automatic Mixed Precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): 클리핑, 누적, 여러 옵티마이저와 스케일러
- [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html): 시드, 작업자, 결정적 연산
- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): 스케줄러를 부르는 자리와 종류
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): 추론용 파일과 이어서 학습할 파일
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): `weights_only`가 여는 것과 열지 않는 것
- [Accelerate](https://huggingface.co/docs/accelerate/index), [Lightning](https://lightning.ai/docs/pytorch/stable/), [Trainer](https://huggingface.co/docs/transformers/main_classes/trainer): 9절의 세 프레임워크

## 다음 노트북

**03 학습을 안정시키는 장치.** 작은 GPT가 한국어 조문을 쓰게 될 때까지, 워밍업과 감쇠와 클리핑이 스텝마다 무엇을 바꾸는지 잽니다.
"""
