# mistakes: not-frozen, no-validation, validation-too-strict, unknown-key-ignored
# lines: 7, 21, 25, 33
import tomllib
from dataclasses import asdict, dataclass, fields


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
        # 말이 안 되는 값 막기
        if self.lr < 0:
            raise ValueError("lr는 음수일 수 없습니다")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("epochs, batch_size는 1 이상")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("워밍업이 너무 깁니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        names = [f.name for f in fields(cls)]
        return cls(**{k: v for k, v in data.items() if k in names})

    def to_dict(self):
        return asdict(self)
