# mistakes: 파일에 이번 점수가 아니라 그전의 최고 점수를 적음
# lines: 28
import math
import os
from dataclasses import asdict, is_dataclass
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
        best = score if self.best is None else self.best
        if self.best is not None and not score > best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": best,
            "config": asdict(config) if is_dataclass(config) else dict(config),
        }
        tmp = self.path.with_name(self.path.name + ".part")
        torch.save(state, tmp)
        os.replace(tmp, self.path)
        self.best = score
        return True
