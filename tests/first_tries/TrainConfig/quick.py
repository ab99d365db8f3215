# mistakes: not-frozen, no-validation, unknown-key-type-error, config-not-plain
# lines: 9, 26, 33, 37
import tomllib
from dataclasses import asdict, dataclass

import torch


@dataclass
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError("lr은 0보다 커야 합니다")
        if self.epochs < 1:
            raise ValueError("epochs는 1 이상")
        if self.batch_size < 1:
            raise ValueError("batch_size는 1 이상")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        return cls(**data)

    def to_dict(self):
        d = asdict(self)
        if self.amp_dtype is not None:
            d["amp_dtype"] = getattr(torch, self.amp_dtype)
        return d
