# mistakes: 점수를 소수 둘째 자리로 반올림해서 비교함
# lines: 16
import math
import os
from dataclasses import asdict

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        score = round(float(score), 2)
        if math.isnan(score):
            return False
        if self.best is not None and not score > self.best:
            return False
        self.best = score
        content = dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            score=score,
            config=dict(config) if isinstance(config, dict) else asdict(config),
        )
        torch.save(content, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        return True
