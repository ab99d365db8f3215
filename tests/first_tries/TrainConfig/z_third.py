# mistakes: not-frozen, validation-too-strict, unknown-key-not-named
# lines: 8, 30, 38
# hidden:
import tomllib
from dataclasses import asdict, dataclass, fields


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
        def require(ok, message):
            if not ok:
                raise ValueError(message)

        require(self.lr > 0, "lr은 0보다 커야 합니다")
        require(self.epochs >= 1, "epochs는 1 이상이어야 합니다")
        require(self.batch_size >= 1, "batch_size는 1 이상이어야 합니다")
        require(self.warmup_steps < self.total_steps, "warmup이 너무 깁니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        known = {f.name for f in fields(cls)}
        if not set(values) <= known:
            raise ValueError("설정 파일에 모르는 키가 있습니다")
        return cls(**values)

    def to_dict(self):
        return asdict(self)
