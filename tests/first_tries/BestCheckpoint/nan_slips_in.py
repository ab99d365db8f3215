# mistakes: nan-saved, score-not-plain, returns-nothing
# lines: 16, 25, 31
import os

import torch


class BestCheckpoint:
    """가장 좋은 모델 저장"""

    def __init__(self, path):
        self.path = str(path)
        self.best_score = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if self.best_score is not None and score <= self.best_score:
            return False
        if not isinstance(config, dict):
            config = config.to_dict()
        state = dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            score=score,
            config=config,
        )
        tmp_path = self.path + ".tmp"
        torch.save(state, tmp_path)
        os.replace(tmp_path, self.path)
        self.best_score = score
