# No dataclass.
import tomllib
from pathlib import Path


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

    def __init__(self, **values):
        if unknown := values.keys() - self.__annotations__.keys():
            raise ValueError(f"unknown: {sorted(unknown)}")
        self.__dict__.update(values)
        self.__post_init__()

    def __post_init__(self):
        if not (self.lr > 0 and self.epochs >= 1 and self.batch_size >= 1):
            raise ValueError("lr, epochs and batch_size must be positive")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps must not exceed total_steps")

    def __setattr__(self, name, value):
        raise TypeError(f"{type(self).__name__} cannot be changed: {name}")

    @classmethod
    def from_toml(cls, path):
        return cls(**tomllib.loads(Path(path).read_text(encoding="utf-8")))

    def to_dict(self):
        return {name: getattr(self, name) for name in self.__annotations__}
