# mistakes: not-frozen, no-validation, validation-too-strict, unknown-key-ignored
# lines: 8, 21, 27, 35
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields


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
        if self.lr < 0:
            raise ValueError(f"lr: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size: {self.batch_size}")
        if self.warmup_steps >= self.total_steps:
            raise ValueError(f"warmup_steps: {self.warmup_steps} / total_steps: {self.total_steps}")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        names = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in values.items() if key in names})

    def to_dict(self):
        return asdict(self)
