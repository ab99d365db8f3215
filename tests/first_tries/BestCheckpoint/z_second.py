# mistakes: zero-never-saved, nan-saved, not-atomic
# lines: 14, 28, 23
# hidden:
import os

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.best_score_so_far = 0.0

    @staticmethod
    def _config_as_dict(config):
        if isinstance(config, dict):
            return dict(config)
        return config.to_dict()

    def _write(self, contents):
        with open(self.path, "wb") as f:
            torch.save(contents, f)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        # 더 좋지 않으면 바로 나간다
        if score <= self.best_score_so_far:
            return False

        self.best_score_so_far = score
        self._write(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": int(step),
                "score": float(score),
                "config": self._config_as_dict(config),
            }
        )
        return True
