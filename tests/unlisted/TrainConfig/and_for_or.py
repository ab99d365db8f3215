# mistakes: epochs와 batch_size가 둘 다 1보다 작아야만 거절함 (or 대신 and)
# lines: 22
import tomllib
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
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
            raise ValueError(f"lr={self.lr}")
        if self.epochs < 1 and self.batch_size < 1:
            raise ValueError(f"epochs={self.epochs}, batch_size={self.batch_size}")
        if self.warmup_steps > self.total_steps:
            raise ValueError(f"warmup_steps={self.warmup_steps}")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            table = tomllib.load(f)
        unknown = set(table) - set(cls.__dataclass_fields__)
        if unknown:
            raise ValueError("unknown keys: " + ", ".join(sorted(unknown)))
        return cls(**table)

    def to_dict(self):
        return asdict(self)
