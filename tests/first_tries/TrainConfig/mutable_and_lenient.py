# mistakes: not-frozen, no-validation, unknown-key-ignored
# lines: 7, 20, 32
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
        if self.lr < 0:
            raise ValueError("lr은 양수여야 합니다")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("epochs와 batch_size는 1 이상이어야 합니다")
        if self.warmup_steps > self.total_steps:
            raise ValueError("warmup_steps가 total_steps보다 큽니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        names = [f.name for f in fields(cls)]
        data = {k: v for k, v in data.items() if k in names}
        return cls(**data)

    def to_dict(self):
        return asdict(self)
