import math
import os
from dataclasses import asdict
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path, self.best = Path(path), None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if math.isnan(score) or (self.best is not None and not score > self.best):
            return False
        state = dict(model=model.state_dict(), optimizer=opt.state_dict(), scheduler=scheduler.state_dict())
        state |= dict(step=step, score=float(score), config=config if isinstance(config, dict) else asdict(config))
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            torch.save(state, self.path.with_suffix(".new"))
            if self.path.exists():
                self.path.with_suffix(".bak").unlink(missing_ok=True)
                os.link(self.path, self.path.with_suffix(".bak"))
            name = self.path.with_suffix(".new").name
            os.rename(name, self.path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.close(folder)
        self.best = score
        return True
