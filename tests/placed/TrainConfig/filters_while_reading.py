import dataclasses
import tomllib
from dataclasses import dataclass
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
    amp_dtype: str | None = None
    seed: int = 0

    def __post_init__(self):
        problems = []
        if self.lr <= 0:
            problems.append(f"lr {self.lr}")
        if self.epochs < 1:
            problems.append(f"epochs {self.epochs}")
        if self.batch_size < 1:
            problems.append(f"batch_size {self.batch_size}")
        if self.warmup_steps > self.total_steps:
            problems.append(f"warmup_steps {self.warmup_steps}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def from_toml(cls, path):
        return cls(**cls.known(tomllib.loads(Path(path).read_text(encoding="utf-8"))))

    @classmethod
    def known(cls, values):
        names = [field.name for field in dataclasses.fields(cls)]
        return {k: v for k, v in values.items() if k in names}  # here: unknown-key-ignored

    def as_pairs(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:  # here: none-left-out
                yield field.name, value

    def to_dict(self):
        return dict(self.as_pairs())
