# mistakes: NaN인지 보기 전에 best를 바꿔, NaN 다음에는 더 낮은 점수도 저장
# lines: 18
import math
import os

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = os.fspath(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if self.best is not None and score <= self.best:
            return False
        self.best = score
        if math.isnan(score):
            return False
        content = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": dict(config) if isinstance(config, dict) else config.to_dict(),
        }
        beside = self.path + ".tmp"
        torch.save(content, beside)
        os.replace(beside, self.path)
        return True
