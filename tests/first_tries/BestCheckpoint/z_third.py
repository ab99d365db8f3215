# mistakes: zero-never-saved, removes-before-renaming|not-atomic, score-before-this, score-not-plain
# lines: 22, 34, 45, 45
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
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = Path(path)
        self.best_score = 0.0

    def _is_better(self, score):
        if math.isnan(score):
            return False
        return score > self.best_score

    def _write(self, payload):
        # 먼저 옆에 다 쓴 다음 이름을 바꾼다
        temp = self.path.with_name(self.path.name + ".tmp")
        torch.save(payload, temp)
        if self.path.exists():
            os.remove(self.path)
        os.rename(temp, self.path)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not self._is_better(score):
            return False
        payload = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": None if scheduler is None else scheduler.state_dict(),
            "step": step,
            "score": self.best_score,
            "config": _as_plain_dict(config),
        }
        self._write(payload)
        self.best_score = score
        return True
