# mistakes: rewrites-keys
# lines: 30
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path


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
        bad = self.lr <= 0 or min(self.epochs, self.batch_size) < 1 or self.warmup_steps > self.total_steps
        if bad:
            raise ValueError(f"잘못된 설정: {self}")

    @classmethod
    def from_toml(cls, path):
        raw = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        values = {key.replace("-", "_"): value for key, value in raw.items()}
        names = [f.name for f in fields(cls)]
        unknown = [key for key in values if key not in names]
        if unknown:
            raise ValueError("모르는 키: " + ", ".join(unknown))
        return cls(**values)

    def to_dict(self):
        return asdict(self)
