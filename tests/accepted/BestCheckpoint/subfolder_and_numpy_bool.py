import os
import tempfile
from pathlib import Path

import numpy as np
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -np.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        better = score > self.best
        if better:
            with tempfile.TemporaryDirectory(dir=self.path.parent) as folder:
                new = os.path.join(folder, "new")
                content = {"model": model, "optimizer": opt, "scheduler": scheduler}
                content = {name: part.state_dict() for name, part in content.items()}
                content["config"] = config if isinstance(config, dict) else config.to_dict()
                torch.save({**content, "step": step, "score": float(score)}, new)
                os.replace(new, self.path)
            self.best = score
        return better
