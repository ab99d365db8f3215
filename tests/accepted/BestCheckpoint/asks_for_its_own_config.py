import math
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch


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

    def to_dict(self):
        return asdict(self)


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if score <= self.best or math.isnan(score):
            return False
        self.best = score
        config = config.to_dict() if isinstance(config, TrainConfig) else {**config}
        tmp = self.path.parent / (self.path.stem + "_new" + self.path.suffix)
        with open(tmp, "wb") as f:
            torch.save(
                {
                    "model": model.state_dict(),
                    "optimizer": opt.state_dict(),
                    "scheduler": scheduler.state_dict(),
                    "step": step,
                    "score": score,
                    "config": config,
                    "torch": str(torch.__version__),
                },
                f,
            )
        shutil.move(tmp, self.path)
        return True
