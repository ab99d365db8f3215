import os
from pathlib import Path

import torch


def write_in_one_piece(state, path):
    beside = path.parent / f"{path.name}.writing"
    torch.save(state, beside)
    beside.replace(path)


def as_dict(config):
    return config.to_dict()  # here: config-object-only


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = None

    def _is_higher(self, score):
        if self.best is None:
            return True
        return score > self.best + 1e-4  # here: asks-for-more

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if score != score or not self._is_higher(score):
            return False
        objects = {"model": model, "optimizer": opt, "scheduler": scheduler}
        state = {name: each.state_dict() for name, each in objects.items()}
        write_in_one_piece(state | {"step": step, "score": score, "config": as_dict(config)}, self.path)
        self.best = score
        return True
