# mistakes: other-exception, validation-too-strict, unknown-key-type-error, none-left-out
# lines: 23, 26, 31, 34
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TrainConfig:
    """학습 설정"""

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
        assert self.lr > 0, "lr must be positive"
        assert self.epochs >= 1
        assert self.batch_size >= 1
        assert self.warmup_steps < self.total_steps

    @classmethod
    def from_toml(cls, path):
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return cls(**values)

    def to_dict(self):
        return {k: v for k, v in self.__dict__.items() if v is not None}
