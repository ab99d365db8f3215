from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional
import tomllib


@dataclass(frozen=True)
class TrainConfig:
    lr: float = 0.0003
    weight_decay: float = 1e-2
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1
    amp_dtype: Optional[str] = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self.lr > 0, "lr must be positive")
        _check(self.epochs >= 1, "epochs must be at least 1")
        _check(self.batch_size >= 1, "batch_size must be at least 1")
        _check(self.warmup_steps <= self.total_steps, "warmup is longer than training")

    @staticmethod
    def from_toml(path: str | Path) -> TrainConfig:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        try:
            return TrainConfig(**values)
        except TypeError as error:
            raise ValueError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def _check(condition, message):
    if not condition:
        raise ValueError(message)
