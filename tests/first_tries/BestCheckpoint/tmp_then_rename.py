# mistakes: greater-or-equal, missing-scheduler-state, removes-before-renaming, returns-nothing
# lines: 23, 32, 40, 42
import math
from pathlib import Path

import torch


def as_plain(config):
    if isinstance(config, dict):
        return dict(config)
    return config.to_dict()


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = None

    def is_better(self, score):
        if math.isnan(score):
            return False
        return self.best is None or score >= self.best

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if not self.is_better(score):
            return False
        state = {}
        state["model"] = model.state_dict()
        state["optimizer"] = opt.state_dict()
        state["scheduler"] = scheduler.get_last_lr()
        state["step"] = step
        state["score"] = score
        state["config"] = as_plain(config)

        temporary = Path(str(self.path) + ".tmp")
        torch.save(state, temporary)
        if self.path.exists():
            self.path.unlink()
        temporary.rename(self.path)
        self.best = score
