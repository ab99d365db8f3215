# mistakes: unlisted(another default), no-validation, validation-too-strict, unknown-key-not-named
# lines: 17, 22, 24, 33
import dataclasses
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = "bfloat16"
    seed: int = 0

    def __post_init__(self):
        # 값 검사
        if self.lr <= 0 or self.epochs < 1:
            raise ValueError(f"invalid lr={self.lr} or epochs={self.epochs}")
        if self.warmup_steps >= self.total_steps:
            raise ValueError("warmup is longer than training")

    @staticmethod
    def from_toml(path):
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        allowed = [f.name for f in dataclasses.fields(TrainConfig)]
        for key in table:
            if key not in allowed:
                raise ValueError("config file contains an unknown key")
        return TrainConfig(**table)

    def to_dict(self):
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
