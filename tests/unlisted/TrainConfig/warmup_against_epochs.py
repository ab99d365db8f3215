# mistakes: warmup_steps를 total_steps가 아니라 epochs와 비교함
# lines: 26
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
            raise ValueError(f"lr must be positive: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs must be at least 1: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1: {self.batch_size}")
        if self.warmup_steps > self.epochs * self.batch_size:
            raise ValueError(f"warmup is too long: {self.warmup_steps}")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        names = {f.name for f in fields(cls)}
        wrong = set(values) - names
        if wrong:
            raise ValueError(", ".join(wrong))
        return cls(**values)

    def to_dict(self):
        return asdict(self)
