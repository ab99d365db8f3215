# mistakes: other-exception, no-validation, unknown-key-ignored, none-left-out
# lines: 21, 22, 31, 39
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None  # "bfloat16", "float16", None
    seed: int = 0

    def __post_init__(self):
        assert self.lr > 0, "lr must be positive"
        assert self.epochs >= 1, "need at least one epoch"
        assert self.warmup_steps <= self.total_steps, "warmup longer than training"

    @classmethod
    def from_toml(cls, path):
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        known = [f.name for f in fields(cls)]
        picked = {}
        for key in table:
            if key in known:
                picked[key] = table[key]
        return cls(**picked)

    def to_dict(self):
        out = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None:
                out[f.name] = value
        return out
