# mistakes: not-frozen, no-validation, unknown-key-ignored, to-dict-incomplete
# lines: 8, 23, 38, 52
# hidden:
import tomllib
from dataclasses import dataclass


@dataclass
class TrainConfig:
    """학습 한 번을 정하는 값을 모두 담습니다. 한번 만들면 바꿀 수 없습니다."""

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
        if self.epochs < 1:
            raise ValueError("epochs")
        if self.batch_size < 1:
            raise ValueError("batch_size")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps > total_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        known = {}
        for name in cls.__dataclass_fields__:
            if name in data:
                known[name] = data[name]
        return cls(**known)

    def to_dict(self):
        return {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "max_norm": self.max_norm,
            "amp_dtype": self.amp_dtype,
        }
