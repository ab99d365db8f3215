import copy
import io
import math
from dataclasses import asdict, is_dataclass
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.scores = []

    def update(self, score, *, model, opt, scheduler, step, config):
        score = score.item() if hasattr(score, "item") else float(score)
        if math.isnan(score):
            return False
        is_best = len(self.scores) == 0 or score > max(self.scores)
        if not is_best:
            return False
        self.state = copy.deepcopy(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": asdict(config) if is_dataclass(config) else config,
            }
        )
        buffer = io.BytesIO()
        torch.save(self.state, buffer)
        part = self.path.with_suffix(".part")
        part.write_bytes(buffer.getvalue())
        part.replace(self.path)
        self.scores.append(score)
        return True
