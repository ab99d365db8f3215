# mistakes: 오류 메시지에 모르는 키가 아니라 파일 경로를 적음
# lines: 34
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
            raise ValueError("lr must be positive")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("epochs and batch_size must be at least 1")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps is larger than total_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise ValueError(f"모르는 키: {path}")
        return cls(**values)

    def to_dict(self):
        return asdict(self)
