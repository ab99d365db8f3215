# mistakes: validation-too-strict, no-validation, unknown-key-not-named
# lines: 24, 22, 32
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path


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
        if self.lr <= 0 or self.epochs < 1:
            raise ValueError("lr는 0보다 크고 epochs는 1 이상이어야 합니다")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("워밍업이 전체보다 깁니다")

    @classmethod
    def from_toml(cls, path):
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        names = [f.name for f in fields(cls)]
        if not set(values) <= set(names):
            raise ValueError("설정 파일에 모르는 키가 있습니다")
        return cls(**values)

    def to_dict(self):
        return asdict(self)
