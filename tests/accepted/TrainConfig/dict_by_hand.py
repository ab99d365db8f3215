import dataclasses
import tomllib
import typing


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: typing.Union[str, None] = None
    seed: int = 0

    def __post_init__(self):
        for name, low in [("epochs", 1), ("batch_size", 1)]:
            if getattr(self, name) < low:
                raise ValueError(f"{name} < {low}")
        if self.lr <= 0 or self.warmup_steps > self.total_steps:
            raise ValueError("lr or warmup_steps")

    @classmethod
    def from_toml(cls, path):
        file = open(path, "rb")
        values = tomllib.load(file)
        file.close()
        extra = values.keys() - cls.__dataclass_fields__.keys()
        if len(extra) > 0:
            raise ValueError("unknown keys: " + ", ".join(sorted(extra)))
        config = dataclasses.replace(cls(), **values)
        return config

    def to_dict(self):
        return {
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "max_norm": self.max_norm,
            "amp_dtype": self.amp_dtype,
            "seed": self.seed,
        }
