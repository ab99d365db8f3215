# mistakes: validation-too-strict, unknown-key-not-named, to-dict-shares
# lines: 23, 33, 37
import tomllib
from dataclasses import dataclass, fields


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
        """값을 확인합니다."""
        if self.lr <= 0 or self.epochs < 1 or self.batch_size < 1:
            raise ValueError("잘못된 값이 있습니다")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("warmup_steps가 너무 큽니다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as file:
            values = tomllib.load(file)
        names = [field.name for field in fields(cls)]
        for key in values:
            if key not in names:
                raise ValueError("설정 파일에 모르는 키가 있습니다")
        return cls(**values)

    def to_dict(self):
        return self.__dict__
