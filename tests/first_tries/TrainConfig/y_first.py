# mistakes: not-frozen, unknown-key-not-named, validation-too-strict
# lines: 9, 37, 27
# hidden:
import dataclasses
import tomllib
from dataclasses import dataclass


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
        if self.lr <= 0:
            raise ValueError(f"lr: {self.lr}")
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("워밍업이 전체보다 깁니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            table = tomllib.load(f)

        allowed = {f.name for f in dataclasses.fields(cls)}
        if not set(table) <= allowed:
            raise ValueError("설정 파일에 모르는 키가 있습니다")
        return cls(**table)

    def to_dict(self):
        return dataclasses.asdict(self)
