import math
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.file = Path(path)
        self.record = None

    def snapshot_of(self, model, opt, scheduler):
        model.eval()  # here: forces-eval-mode
        parts = {"model": model, "optimizer": opt, "scheduler": scheduler}
        return {name: part.state_dict() for name, part in parts.items()}

    def beats_record(self, score):
        if score != score:
            return False
        if self.record and score <= self.record:  # here: zero-taken-for-none
            return False
        return True

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if not self.beats_record(score):
            return False
        state = self.snapshot_of(model, opt, scheduler)
        state.update(step=step, score=score)
        state["config"] = config if isinstance(config, dict) else config.to_dict()
        temp = self.file.with_suffix(".tmp")
        torch.save(state, temp)
        temp.replace(self.file)
        self.record = score
        return True
