# mistakes: zero-taken-for-none, removes-before-renaming
# lines: 18, 30
import math
import os

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score):
            return False
        if not self.best or score > self.best:
            self.best = score
            data = dict(
                model=model.state_dict(),
                optimizer=opt.state_dict(),
                scheduler=scheduler.state_dict(),
                step=step,
                score=score,
                config=config if isinstance(config, dict) else config.to_dict(),
            )
            tmp = self.path + ".tmp"
            torch.save(data, tmp)
            if os.path.exists(self.path):
                os.remove(self.path)      # 예전 파일을 지우고
            os.rename(tmp, self.path)     # 이름을 바꾼다
            return True
        return False
