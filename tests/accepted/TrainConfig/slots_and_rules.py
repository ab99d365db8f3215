import tomllib
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
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
        broken = {
            "lr must be positive": self.lr <= 0,
            "epochs must be at least 1": self.epochs < 1,
            "batch_size must be at least 1": self.batch_size < 1,
            "warmup_steps must not exceed total_steps": self.warmup_steps > self.total_steps,
        }
        if complaints := [text for text, holds in broken.items() if holds]:
            raise ValueError("; ".join(complaints))

    @classmethod
    def from_toml(cls, path):
        given = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
        if strangers := given.keys() - {field.name for field in fields(cls)}:
            raise ValueError("unknown keys: " + ", ".join(sorted(strangers)))
        return cls(**given)

    def to_dict(self):
        return {field.name: getattr(self, field.name) for field in fields(self)}
