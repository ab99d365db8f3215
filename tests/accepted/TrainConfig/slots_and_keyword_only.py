import tomllib
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
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
        problems = []
        if not self.lr > 0:
            problems.append("lr")
        if not self.epochs >= 1:
            problems.append("epochs")
        if not self.batch_size >= 1:
            problems.append("batch_size")
        if not self.warmup_steps <= self.total_steps:
            problems.append("warmup_steps")
        if problems:
            raise ValueError(f"wrong: {problems}")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        names = [f.name for f in fields(cls)]
        for key in data:
            if key not in names:
                raise ValueError(f"unknown key {key!r}")
        return cls(**data)

    def to_dict(self):
        return asdict(self)
