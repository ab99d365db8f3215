# mistakes: no-validation, methods-taken-for-fields, none-left-out
# lines: 21, 34, 39
import dataclasses
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
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
        if self.lr < 0:
            raise ValueError(f"lr: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size: {self.batch_size}")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps > total_steps")

    @classmethod
    def from_toml(cls, path):
        config = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        for name in config:
            if not hasattr(cls, name):
                raise ValueError(f"모르는 키: {name}")
        return cls(**config)

    def to_dict(self):
        return {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
