# mistakes: 스케줄러의 state_dict()가 아니라 get_last_lr()를 저장함
# lines: 23
import math
import os
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf
        self.empty = True

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if math.isnan(score) or (not self.empty and score <= self.best):
            return False
        data = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": {"last_lr": scheduler.get_last_lr()},
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        part = self.path.with_name(self.path.name + ".part")
        torch.save(data, part)
        part.replace(self.path)
        self.best, self.empty = score, False
        return True
