# mistakes: no-validation, validation-too-strict, none-left-out
# lines: 30, 32, 48
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields


def _require(ok, message):
    if not ok:
        raise ValueError(message)


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
        _require(self.lr > 0, "lr는 0보다 커야 합니다")
        for name in ("epochs", "batch_size"):
            _require(getattr(self, name) >= 0, f"{name}가 너무 작습니다")
        _require(
            self.warmup_steps < self.total_steps,
            "warmup_steps가 total_steps보다 큽니다",
        )

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            table = tomllib.load(f)
        known = {f.name for f in fields(cls)}
        for key in table:
            _require(key in known, f"모르는 키입니다: {key}")
        return cls(**table)

    def to_dict(self):
        result = {}
        for key, value in asdict(self).items():
            if value:
                result[key] = value
        return result
