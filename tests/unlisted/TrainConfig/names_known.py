# mistakes: 오류 문장에 모르는 키가 아니라 아는 키를 적음
# lines: 32
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
        if self.lr <= 0 or self.epochs < 1 or self.batch_size < 1:
            raise ValueError("lr, epochs, batch_size must be positive")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps > total_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        known = {field.name for field in fields(cls)}
        unknown = set(values) - known
        if unknown:
            raise ValueError(f"unknown keys: {sorted(known)}")
        return cls(**values)

    def to_dict(self):
        return asdict(self)
