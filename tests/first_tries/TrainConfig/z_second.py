# mistakes: not-frozen, validation-too-strict, unknown-key-ignored
# lines: 13, 31, 38
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields


def _ensure(condition, message):
    if not condition:
        raise ValueError(message)


@dataclass
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
        _ensure(self.lr > 0, "lr은 양수여야 합니다")
        _ensure(self.epochs >= 1, "epochs는 1 이상이어야 합니다")
        _ensure(self.batch_size >= 1, "batch_size는 1 이상이어야 합니다")
        _ensure(self.warmup_steps < self.total_steps, "warmup_steps가 total_steps보다 큽니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as toml_file:
            loaded = tomllib.load(toml_file)
        known = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in loaded.items() if key in known})

    def to_dict(self):
        return asdict(self)
