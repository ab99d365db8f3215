# mistakes: first-nan-saved, missing-optimizer-state, returns-nothing
# lines: 17, 23, 32
import os
from dataclasses import asdict, is_dataclass

import torch


class BestCheckpoint:
    """최고 점수 저장"""

    def __init__(self, path):
        self.path = str(path)
        self.best_score = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if self.best_score is None or score > self.best_score:
            self.best_score = score
            tmp_path = self.path + ".tmp"
            torch.save(
                dict(
                    model=model.state_dict(),
                    opt=opt.state_dict(),
                    scheduler=scheduler.state_dict(),
                    step=step,
                    score=float(score),
                    config=asdict(config) if is_dataclass(config) else dict(config),
                ),
                tmp_path,
            )
            os.replace(tmp_path, self.path)
            return True
