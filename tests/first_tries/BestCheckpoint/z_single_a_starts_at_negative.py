# mistakes: starts-at-negative
# lines: 15
# hidden:
import math
from pathlib import Path

import torch

WORST_SCORE = -1.0  # 정확도는 음수가 될 수 없습니다


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best_score = WORST_SCORE

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        improved = not math.isnan(score) and score > self.best_score
        if improved:
            self._write(score, model, opt, scheduler, step, config)
            self.best_score = score
        return improved

    def _write(self, score, model, opt, scheduler, step, config):
        settings = config if isinstance(config, dict) else config.to_dict()
        temporary = self.path.with_name(self.path.name + ".part")
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": settings,
            },
            temporary,
        )
        temporary.replace(self.path)
