# mistakes: opens-a-table
# lines: 38
import tomllib
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class TrainConfig:
    """학습 한 번을 정하는 값을 모두 담습니다. 한번 만들면 바꿀 수 없습니다."""

    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None  # "bfloat16", "float16", 또는 None(float32)
    seed: int = 0

    def __post_init__(self):
        problems = []
        if self.lr <= 0:
            problems.append("lr")
        if self.epochs < 1:
            problems.append("epochs")
        if self.batch_size < 1:
            problems.append("batch_size")
        if self.warmup_steps > self.total_steps:
            problems.append("warmup_steps")
        if problems:
            raise ValueError(", ".join(problems))

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            table = tomllib.load(f)
        table = table.get("train", table)
        unknown = sorted(set(table) - {f.name for f in fields(cls)})
        if unknown:
            raise ValueError(f"unknown keys: {unknown}")
        return cls(**table)

    def to_dict(self):
        return asdict(self)
