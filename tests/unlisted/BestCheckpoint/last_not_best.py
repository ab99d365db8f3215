# mistakes: 저장하지 않았을 때도 best를 바꿔서, 가장 높은 점수가 아니라 바로 앞의 점수와 견줌
# lines: 21
import math
import os
from dataclasses import asdict, is_dataclass

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = os.fspath(path)
        self.best = -math.inf
        self.saved = False

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score):
            return False
        better = not self.saved or score > self.best
        self.best = score
        if not better:
            return False
        payload = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": int(step),
            "score": score,
            "config": asdict(config) if is_dataclass(config) else dict(config),
        }
        temporary = self.path + ".tmp"
        torch.save(payload, temporary)
        os.replace(temporary, self.path)
        self.saved = True
        return True
