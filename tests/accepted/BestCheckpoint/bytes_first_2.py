import io
import math
import os
import tempfile
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score) or not (self.best is None or score > self.best):
            return False

        buffer = io.BytesIO()
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": int(step),
                "score": score,
                "config": dict(config) if isinstance(config, dict) else config.to_dict(),
            },
            buffer,
        )
        handle, beside = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(buffer.getvalue())
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
        self.best = score
        return True
