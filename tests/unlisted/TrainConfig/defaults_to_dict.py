# mistakes: to_dict가 값이 아니라 필드의 기본값을 담음
# lines: 38
import tomllib
from dataclasses import dataclass, fields


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
            raise ValueError(f"lr: {self.lr}")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("epochs, batch_size")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps > total_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        names = [f.name for f in fields(cls)]
        for key in data:
            if key not in names:
                raise ValueError(f"모르는 키: {key}")
        return cls(**data)

    def to_dict(self):
        return {f.name: f.default for f in fields(self)}
