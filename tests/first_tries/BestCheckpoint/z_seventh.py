# mistakes: zero-taken-for-none, not-atomic
# lines: 25, 32
# hidden:
import math
import os
from pathlib import Path

import torch


def _as_plain_dict(config):
    if isinstance(config, dict):
        return dict(config)
    return config.to_dict()


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best_score = None

    def _is_better(self, score):
        if math.isnan(score):
            return False
        if not self.best_score:
            return True
        return score > self.best_score

    def _write(self, contents):
        temporary = self.path.with_name(self.path.name + ".tmp")
        if self.path.exists():
            self.path.unlink()  # 예전 파일은 지우고
        torch.save(contents, temporary)
        os.rename(temporary, self.path)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if not self._is_better(score):
            return False
        self._write(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": _as_plain_dict(config),
            }
        )
        self.best_score = score
        return True
