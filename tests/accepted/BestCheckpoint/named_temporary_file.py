import math
import os
import tempfile

import torch


class BestCheckpoint:
    best = None

    def __init__(self, path):
        self.path = path

    def is_better(self, score):
        if score != score:
            return False
        return self.best is None or score > self.best

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not self.is_better(score):
            return False
        state = {k: v.state_dict() for k, v in [("model", model), ("optimizer", opt), ("scheduler", scheduler)]}
        state["model"] = {k: v.detach().cpu().clone() for k, v in state["model"].items()}
        state.update(step=step, score=float(score), config=vars(config) if hasattr(config, "__dict__") else config)
        folder = os.path.dirname(os.path.abspath(self.path))
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as f:
            try:
                torch.save(state, f)
                f.flush()
                os.fsync(f.fileno())
            except BaseException:
                os.unlink(f.name)
                raise
        os.replace(f.name, self.path)
        self.best = score
        return True
