# expect: saves-last|forgets-best
import math
import os
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score):
            return False
        if self.best is None or score > self.best:
            state = {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "config": config if isinstance(config, dict) else config.to_dict(),
                "step": step,
                "score": score,
            }
            temporary = self.path.with_name(self.path.name + ".tmp")
            torch.save(state, temporary)
            os.replace(temporary, self.path)
            return True
        return False
