# mistakes: no-validation, validation-too-strict, unknown-key-type-error
# lines: 27, 30, 37
# hidden:
import tomllib
from dataclasses import asdict, dataclass


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
    amp_dtype: str | None = None
    seed: int = 0

    def __post_init__(self):
        def need(ok, msg):
            if not ok:
                raise ValueError(msg)

        need(self.lr >= 0, "lr")
        need(self.epochs >= 1, "epochs")
        need(self.batch_size >= 1, "batch_size")
        need(self.warmup_steps < self.total_steps, "warmup_steps")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            table = tomllib.load(f)
        # 모르는 키가 있으면 여기서 오류가 난다
        return cls(**table)

    def to_dict(self):
        return asdict(self)
