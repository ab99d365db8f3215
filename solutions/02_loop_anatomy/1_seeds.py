# %% [markdown]
r"""
# 시드: 같은 학습을 다시 하려면

같은 코드를 두 번 실행했는데 정확도가 다릅니다. 이 노트북에서는 난수가 학습의 어디에 들어가는지 찾고, 시드(seed)를 정하는 함수를 씁니다.

**먼저 해 보세요.** 아래 두 셀을 실행하고, 둘째 셀의 `seed`를 다른 수로 바꾸어 몇 번 더 실행합니다. 코드와 데이터는 그대로인데 검증(validation) 정확도가 몇 %p까지 벌어지나요?
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import random
import sys
import warnings
from statistics import median

import numpy as np
import torch
from matplotlib import pyplot as plt
from torch.utils.data import DataLoader

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.digits import apart, on_cpu
from grader.experiments.loop_anatomy.seeds import (
    GlobalNoise,
    OwnNoise,
    distinct,
    reseed,
    seeded_run,
    trained,
    two_epochs,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %%
seed = 0  # 다른 수로 바꾸어 보세요
curve, score = trained(seed)
print(f"시드 {seed}: 검증 정확도 {score:.1f}%")

# %% [markdown]
r"""
## 1. 시드만 바꾸었을 때

약 5분 · ★☆☆

`trained`는 scikit-learn의 8×8 손글씨 숫자로 작은 모델을 다섯 에폭(epoch) 학습합니다. 시드를 12개로 바꾸어 결과가 얼마나 흔들리는지 재고, 시드 0으로는 한 번 더 학습해 봅니다.
"""

# %%
runs = [trained(seed) for seed in range(12)]
twin, _ = trained(0)
scores = [score for _, score in runs]
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
**시드만 바꾸어도 2%p 넘게 흔들립니다.** 시드 하나로 얻은 0.5%p 향상은 근거가 되지 못합니다. 시드를 정하는 목적은 좋은 시드를 찾는 것이 아닙니다. 한 가지만 바꾼 두 실행에서 나머지를 똑같이 두는 것입니다.

## 2. 무엇이 난수를 뽑을까요

약 7분 · ★★☆

시드를 맨 위에 한 번 정한 루프가 있습니다. 여기에 두 가지를 따로 바꾸어 봅니다. 시드를 정하는 줄의 자리를 옮기거나, 에폭 끝마다 검증을 더합니다.

```python
torch.manual_seed(0)
model = …
for epoch in range(2):
    model.train()
    for rows in train_loader:      # shuffle=True
        …                          # 다섯 줄
    model.eval()                   # 여기부터가 더한 검증
    with torch.no_grad():
        for rows in val_loader:    # 섞지 않습니다
            model(x_val[rows])
```

**예측 1.** 검증을 **더한** 다음, 학습한 가중치(weight)는 더하기 전과 같을까요? 검증 로더는 섞지 않고, 검증은 평가 모드(evaluation mode)와 `no_grad()` 안에서 합니다.

- a: 같습니다. 검증은 가중치를 읽기만 합니다.
- b: 드롭아웃(dropout)이 있는 모델만 다릅니다.
- c: 드롭아웃이 없는 모델도 다릅니다.
"""

# %% tags=["predict"]
predict("02-2")


# %%
def own():
    """로더 하나만 쓰는 제너레이터(generator)입니다."""
    return torch.Generator().manual_seed(0)


plain, undropped, isolated = seeded_run(), seeded_run(dropout=0.0), seeded_run(train_generator=own())
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
전역 난수는 모두가 한 줄로 서서 뽑는 번호표입니다. 한 군데에서 한 장 더 뽑으면 뒤가 모두 밀립니다. 섞지 않는 로더도 돌기 시작할 때 한 장을 뽑습니다. 로더에 `generator=`를 따로 주면 **배치 순서는** 지켜집니다. 드롭아웃은 여전히 전역 난수를 씁니다. 그래서 표의 다섯째 줄은 순서가 같은데 가중치가 다릅니다. 여섯째 줄처럼 **검증 로더에** 제너레이터를 따로 주면 검증이 전역 난수를 뽑지 않으므로, 드롭아웃이 있어도 가중치까지 같습니다.

둘째 줄도 보세요. 시드를 모델보다 **늦게** 정하면 초기 가중치가 실행마다 달라집니다. 그래서 시드는 모델과 로더를 만들기 전, 프로그램의 맨 위에서 정합니다.

### 연습 1. `seed_everything`

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
## 3. 작업자가 여럿일 때

약 8분 · ★★☆

「`num_workers`를 쓰면 NumPy 시드가 작업자(worker, 데이터를 읽는 프로세스)마다 같아지므로 `worker_init_fn`을 꼭 써야 한다.」 널리 퍼진 조언입니다. 어떤 데이터셋에 필요한 조언인지 재 봅니다.

**예측 2.** 작업자가 둘입니다. 데이터셋이 샘플마다 난수를 하나 뽑습니다(데이터 증강을 흉내 냅니다). 두 작업자가 **같은 난수를 되풀이하는** 것은 어느 쪽일까요?

- a: `__getitem__`에서 전역 `np.random.rand()`를 부르는 데이터셋
- b: `__init__`에서 만든 `self.rng = np.random.default_rng(0)`로 뽑는 데이터셋
- c: 둘 다
"""

# %% tags=["predict"]
predict("02-3")

# %%
# 작업자를 fork로 만드는 리눅스에서만 잽니다. 두 에폭을 돌며 난수를 16개 뽑습니다
draws = {}
if sys.platform == "linux":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 새 파이썬은 fork를 권하지 않습니다
        draws = {
            "전역 np.random": two_epochs(GlobalNoise()),
            "들고 있는 default_rng": two_epochs(OwnNoise()),
            "들고 있는 default_rng, persistent_workers": two_epochs(OwnNoise(), persistent_workers=True),
            "들고 있는 default_rng + worker_init_fn": two_epochs(OwnNoise(), worker_init_fn=reseed),
        }

# %% tags=["folded"]
# 표와 확인: 난수 16개 가운데 서로 다른 것의 수입니다
import pickle

if draws:
    show_table(
        ["데이터셋", "16번 뽑은 난수 가운데 서로 다른 것", "첫 에폭"],
        [
            [name, distinct(values), " ".join(f"{value:.2f}" for value in values[:8])]
            for name, values in draws.items()
        ],
    )
    assert [distinct(values) for values in draws.values()] == [16, 4, 8, 16]
    persistent = draws["들고 있는 default_rng, persistent_workers"]
    assert not set(persistent[:8]) & set(persistent[8:])
else:
    print("작업자를 fork로 만드는 실험은 리눅스에서만 합니다. 아래는 리눅스에서 잰 답입니다.")
# forkserver와 spawn은 데이터셋을 pickle로 담아 작업자마다 풉니다. 풀린 둘도 같은 난수를 뽑습니다
parcel = pickle.dumps(OwnNoise())
assert pickle.loads(parcel)[0] == pickle.loads(parcel)[0]
reveal("02-3")

# %% [markdown]
r"""
들고 있는 제너레이터는 작업자를 만들 때 두 작업자에게 똑같이 복사되고, 다음 에폭에 작업자를 새로 만들 때 처음 상태로 또 복사됩니다. 그래서 16번 뽑아도 서로 다른 것은 네 개뿐입니다. 증강이 4분의 1로 줄었는데 오류는 없습니다. `persistent_workers=True`이면 작업자가 에폭을 넘어 살아 있어 둘째 에폭은 다른 난수이지만, 두 작업자가 서로 같은 것은 그대로입니다. 작업자를 fork(실행 중인 프로세스를 통째로 복사하는 방법) 대신 forkserver나 spawn으로 만들어도 데이터셋을 복사해 보내므로 마찬가지입니다.

`worker_init_fn`에서 DataLoader가 작업자와 에폭마다 정해 둔 시드로 `rng`를 다시 만들면 됩니다.

```python
def reseed(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)
```

전역 `np.random`의 문제는 PyTorch 1.9에서 고쳐졌습니다([pytorch#5059](https://github.com/pytorch/pytorch/issues/5059), [#56488](https://github.com/pytorch/pytorch/pull/56488)).

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

# %% tags=["folded"]
# 확인: 거의 같지만, 비트까지 같다는 보장은 없습니다
assert torch.allclose(sums[1], sums[2], rtol=1e-5)
# 시드를 주지 않은 제너레이터는 언제나 같은 시드로 시작합니다
assert torch.Generator().initial_seed() == torch.Generator().initial_seed()

# %% [markdown]
r"""
GPU에서는 같은 기계, 같은 시드로도 순서가 달라지는 연산이 있습니다. `torch.use_deterministic_algorithms(True)`가 그런 연산을 결정적인 것으로 바꾸거나 오류로 알려 줍니다. 대신 느려질 수 있습니다.

## 이제 할 수 있는 것

- 두 실행의 차이가 시드의 흔들림보다 큰지 물을 수 있습니다.
- 검증처럼 「읽기만 하는」 줄도 전역 난수를 옮긴다는 것을 알고, 로더마다 제너레이터를 따로 줍니다.
- 시드가 정하지 못하는 것을 말할 수 있습니다.

실제로 쓰는 학습 루프(training loop)에는 이런 부품이 여섯 있습니다. 이 레슨에서는 하나씩 짧은 함수로 쓰고 마지막에 하나로 조립합니다.

| 부품 | 없을 때 답하지 못하는 물음 |
|---|---|
| 시드 | 0.5%p 좋아진 것은 아이디어 덕일까요, 운일까요? |
| 그레이디언트 클리핑(gradient clipping)과 혼합 정밀도(mixed precision) | 손실이 한 번 치솟았는데 모델은 무사할까요? 16비트로도 같은 것을 배우고 있을까요? |
| 스케줄(schedule) | 학습률(learning rate)을 언제 얼마나 바꾸어야 할까요? |
| 설정(config) | `best.pt`는 있는데, 학습률이 얼마였을까요? |
| 검증과 체크포인트(checkpoint) | 지금 저장된 파일은 어느 순간의 모델일까요? |
| 이어서 학습하기 | 끊긴 학습이 정말 이어졌을까요? |

여기서 쉬어도 좋습니다. 다음 노트북은 이 노트북의 코드를 쓰지 않고 따로 시작합니다.

[다음: 클리핑과 16비트](2_clipping_and_16_bits.ipynb)
"""
