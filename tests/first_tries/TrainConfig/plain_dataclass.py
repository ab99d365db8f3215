# mistakes: not-frozen, no-validation, validation-too-strict, unknown-key-type-error
# lines: 7, 22, 28, 35
import tomllib
from dataclasses import asdict, dataclass


@dataclass
class TrainConfig:
    """학습 한 번을 정하는 값을 모두 담습니다."""

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
            raise ValueError("lr은 음수일 수 없습니다")
        if self.epochs < 1:
            raise ValueError("epochs는 1 이상이어야 합니다")
        if self.batch_size < 1:
            raise ValueError("batch_size는 1 이상이어야 합니다")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("warmup_steps가 total_steps보다 작아야 합니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        return cls(**data)

    def to_dict(self):
        return asdict(self)
