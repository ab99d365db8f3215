# mistakes: nan-saved, not-atomic, starts-from-old-file
# lines: 22, 29, 19
# hidden:
import dataclasses
import os
from pathlib import Path

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = Path(path)
        self.best = None
        # 예전에 저장한 것이 있으면 그 점수부터 이어 간다
        if self.path.exists():
            self.best = torch.load(self.path, weights_only=True)["score"]

    def _is_better(self, score):
        if self.best is not None and score <= self.best:
            return False
        return True

    def _write(self, payload):
        tmp = self.path.with_name(self.path.name + ".tmp")
        if self.path.exists():
            self.path.unlink()
        torch.save(payload, tmp)
        os.rename(tmp, self.path)

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
                "config": config if isinstance(config, dict) else dataclasses.asdict(config),
            }
        )
        self.best = score
        return True
