# %% [markdown]
r"""
# 설정: 이 모델은 무엇으로 학습했을까요

학습률(learning rate) 같은 하이퍼파라미터(hyperparameter)를 코드 곳곳에 적어 두면, 석 달 뒤에 `best.pt`를 열었을 때 그 모델을 다시 만들 방법이 없습니다. 그래서 설정(config) 객체 하나에 모으고, **체크포인트(checkpoint)마다 함께 저장합니다.**
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import tomllib
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.digits import (
    RunConfig,
    apart,
    flat,
    folder,
    make_batches,
    make_model,
    on_cpu,
    plain_step,
)
from grader.plots import show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 저장된 설정으로 다시 학습하기

약 5분 · ★☆☆

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


def run_from(cfg):
    model = make_model(seed=0)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for batch in make_batches(seed=epoch):
            plain_step(model, opt, batch)  # 다섯 줄
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
저장된 0.05는 아무도 고른 적이 없는 학습률입니다. 학습하는 동안 설정이 바뀌었고, 바뀐 것이 파일에 남았습니다.

## 2. 설정이 지켜야 할 세 가지

약 7분 · ★☆☆

1. 한번 만들면 바뀌지 않습니다.
2. 모르는 이름과 말이 안 되는 값을 받지 않습니다.
3. 저장할 때는 숫자와 문자열만 남습니다.

`@dataclass(frozen=True)`는 `cfg.lr *= 0.5`라고 적은 그 줄에서 오류를 내 막아 줍니다. 값을 바꾼 설정이 필요하면 `replace`로 새로 만듭니다. 사람이 고른 **처음 학습률**은 설정이고, 스케줄러가 스텝(step)마다 바꾸는 **지금 학습률**은 옵티마이저(optimizer)의 `param_groups`에 있는 상태입니다. 이름은 같아도 저장하는 곳이 다릅니다.
"""


# %%
@dataclass(frozen=True)
class FrozenConfig:
    lr: float = 0.4


cfg = FrozenConfig()
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
file_text = """
lr = 0.1
wramup_steps = 500
"""
values = tomllib.loads(file_text)
print("파일의 오타:", list(values)[1], "→ get으로 꺼낸 워밍업 스텝:", values.get("warmup_steps", 14))

# %% tags=["folded"]
# 확인: 바뀌지 않은 설정, 500을 원했지만 기본값인 14
assert frozen_error is not None
assert cfg.lr == 0.4
assert values.get("warmup_steps", 14) == 14

# %% [markdown]
r"""
## 3. 버그 찾기: 설정을 객체 그대로 저장하기

약 8분 · ★★☆

저장할 때 왜 숫자와 문자열만 남길까요? 아래는 되풀이해 나오는 버그입니다. **읽고, 고른 다음, 실행하세요.**
"""


# %% tags=["find-the-bug"]
def loop_5_save(model, cfg, path):
    torch.save({"model": model.state_dict(), "config": cfg}, path)


# %% [markdown]
r"""
**예측 2.** 설정을 객체 그대로 저장한 파일을 `torch.load(path, weights_only=True)`로 열면 어떻게 될까요? PyTorch 2.6부터 이것이 기본값입니다.

- a: 저장할 때 이미 오류가 납니다.
- b: 저장은 되고, 열 때 오류가 납니다.
- c: 열리고, 설정은 dict로 바뀌어 있습니다.
"""

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

### 연습 5. `TrainConfig`

약 25분 · ★☆☆

바뀌지 않는 dataclass를 완성합니다. 말이 안 되는 값은 `__post_init__`에서 막고, TOML 파일의 모르는 키는 **그 이름을 알려 주며** 거절합니다. `to_dict()`는 체크포인트에 넣을 dict를 만듭니다.
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
## 이제 할 수 있는 것

- 학습을 다시 만드는 데 필요한 값을 바뀌지 않는 객체 하나에 모읍니다.
- 설정 파일의 오타와 말이 안 되는 값을 학습을 시작하기 전에 알립니다.
- 체크포인트에 넣어도 되는 값과 열리지 않는 값을 구별합니다.

설정은 혼자서는 쓸모가 적습니다. 다음 노트북에서 가장 좋은 모델의 파일에 함께 담습니다. 그 전에 쉬어 가도 좋습니다.

[다음: 가장 좋은 체크포인트](6_best_checkpoint.ipynb)
"""
