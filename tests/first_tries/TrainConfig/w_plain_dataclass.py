# mistakes: not-frozen, no-validation, no-validation, unknown-key-ignored
# lines: 8, 23, 27, 36
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields


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
            raise ValueError(f"lr이 이상합니다: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs가 이상합니다: {self.epochs}")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps가 total_steps보다 깁니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        names = [field.name for field in fields(cls)]
        # 아는 이름만 골라서 넘긴다
        known = {key: value for key, value in values.items() if key in names}
        return cls(**known)

    def to_dict(self):
        return asdict(self)
