# mistakes: returns-nothing
# lines: 34
import math
import os
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score) or score <= self.best:
            return False
        self.best = score
        if not isinstance(config, dict):
            config = config.to_dict()
        tmp = self.path.with_name(self.path.name + ".tmp")
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            },
            tmp,
        )
        os.replace(tmp, self.path)
