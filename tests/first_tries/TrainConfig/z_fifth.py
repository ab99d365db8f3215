# mistakes: validation-too-strict, unknown-key-not-named, none-left-out
# lines: 29, 43, 47
# hidden:
import tomllib
from dataclasses import dataclass, fields


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
        problems = [
            message
            for broken, message in (
                (self.lr <= 0, "lr"),
                (self.epochs < 1, "epochs"),
                (self.batch_size < 1, "batch_size"),
                (self.warmup_steps >= self.total_steps, "warmup_steps"),
            )
            if broken
        ]
        if problems:
            raise ValueError("잘못된 설정: " + ", ".join(problems))

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            values = tomllib.load(f)
        try:
            return cls(**values)
        except TypeError:
            raise ValueError("설정 파일에 모르는 키가 있습니다") from None

    def to_dict(self):
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value}
