import math
import os

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = os.fspath(path)
        self.top = None

    def update(self, score, *, model, opt, scheduler, step, config):
        if not self.is_new_best(score):
            return False
        self.write(self.contents(score, model, opt, scheduler, step, config))
        self.top = score
        return True

    def is_new_best(self, score):
        if math.isnan(score):
            return False
        return self.top is None or score > self.top

    def contents(self, score, model, opt, scheduler, step, config):
        found = {"model": model.state_dict(), "optimizer": opt.state_dict()}
        found["scheduler"] = scheduler.state_dict()
        found["step"] = step
        found["score"] = float(score)
        found["config"] = config if isinstance(config, dict) else config.to_dict()
        return found

    def write(self, found):
        torch.save(found, self.path)  # here: not-atomic
