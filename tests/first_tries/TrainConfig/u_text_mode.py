# mistakes: opens-as-text
# lines: 31
import tomllib
from dataclasses import asdict, dataclass, fields


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
            raise ValueError(f"lr은 0보다 커야 해요: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs는 1 이상이어야 해요: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size는 1 이상이어야 해요: {self.batch_size}")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps가 total_steps보다 커요")

    @classmethod
    def from_toml(cls, path):
        with open(path) as f:
            data = tomllib.load(f)
        unknown = set(data) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"모르는 키: {sorted(unknown)}")
        return cls(**data)

    def to_dict(self):
        return asdict(self)
