import tomllib
from dataclasses import asdict, dataclass, field, fields


@dataclass(frozen=True)
class Config:
    def to_dict(self):
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as f:
            data = tomllib.load(f)
        known = {f.name for f in fields(cls)}
        if not set(data) <= known:
            raise ValueError(str(set(data) - known))
        return cls(**data)


@dataclass(frozen=True, order=True)
class TrainConfig(Config):
    lr: float = field(default=3e-4, metadata={"help": "학습률"})
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0
    note: str = ""

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError("lr")
        if min(self.epochs, self.batch_size) < 1:
            raise ValueError("epochs, batch_size")
        if self.total_steps < self.warmup_steps:
            raise ValueError("warmup_steps")
