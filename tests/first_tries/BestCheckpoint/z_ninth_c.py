# mistakes: zero-never-saved, nan-saved, not-atomic
# lines: 18, 21, 25
# hidden:
from pathlib import Path

import torch


def _as_dict(config):
    if isinstance(config, dict):
        return dict(config)
    return config.to_dict()


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if score <= self.best:
            return False

        self.best = score
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": float(score),
                "config": _as_dict(config),
            },
            self.path,
        )
        return True
