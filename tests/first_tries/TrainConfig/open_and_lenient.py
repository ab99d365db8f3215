# mistakes: not-frozen, no-validation, unknown-key-ignored, config-not-plain
# lines: 10, 23, 37, 42
import tomllib
from dataclasses import asdict, dataclass, fields
from typing import Optional

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
    amp_dtype: Optional[str] = None
    seed: int = 0

    def __post_init__(self):
        if self.lr < 0:
            raise ValueError("lr must be positive")
        if self.epochs < 1:
            raise ValueError("epochs must be >= 1")
        if self.batch_size < 1:
            raise ValueError("batch_size must be >= 1")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps must not exceed total_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        names = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in data.items() if k in names})

    def to_dict(self):
        d = asdict(self)
        if d["amp_dtype"] is not None:
            d["amp_dtype"] = getattr(torch, d["amp_dtype"])
        return d
