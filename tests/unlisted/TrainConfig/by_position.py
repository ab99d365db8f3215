# mistakes: 파일의 값을 키가 아니라 순서대로 넘김
# lines: 36
import tomllib
from dataclasses import asdict, dataclass


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
            raise ValueError("lr")
        if self.epochs < 1:
            raise ValueError("epochs")
        if self.batch_size < 1:
            raise ValueError("batch_size")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            table = tomllib.load(file)
        unknown = [key for key in table if key not in cls.__dataclass_fields__]
        if unknown:
            raise ValueError(f"unknown: {unknown}")
        return cls(*table.values())

    def to_dict(self):
        return asdict(self)
