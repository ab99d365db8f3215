import dataclasses
import tomllib
from dataclasses import dataclass


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
        self._check_numbers()
        self._check_schedule()

    def _check_numbers(self):
        if not self.lr > 0:
            raise ValueError("lr")
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(name)

    def _check_schedule(self):
        if not self.warmup_steps < self.total_steps:  # here: validation-too-strict
            raise ValueError("warmup_steps")

    @classmethod
    def _read(cls, path):
        with open(path, "rb") as handle:
            return tomllib.load(handle)

    @classmethod
    def _refuse_unknown(cls, table):
        extra = set(table) - {f.name for f in dataclasses.fields(cls)}
        if extra:
            raise ValueError("unknown keys in the file")  # here: unknown-key-not-named

    @classmethod
    def from_toml(cls, path):
        table = cls._read(path)
        cls._refuse_unknown(table)
        return cls(**table)

    def to_dict(self):
        return dataclasses.asdict(self)
