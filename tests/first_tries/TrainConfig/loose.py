# mistakes: not-frozen, no-validation, validation-too-strict, unknown-key-ignored
# lines: 7, 20, 24, 31
import tomllib
from dataclasses import asdict, dataclass


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
            raise ValueError("lr")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("epochs, batch_size")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("warmup_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        data = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
        return cls(**data)

    def to_dict(self):
        return asdict(self)
