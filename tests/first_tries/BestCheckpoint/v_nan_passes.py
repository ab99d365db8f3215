# mistakes: nan-saved, missing-scheduler-state, step-off-by-one
# lines: 18, 24, 25
# hidden:
import os

import torch


class BestCheckpoint:
    """가장 좋은 점수일 때만 저장한다."""

    def __init__(self, path):
        self.path = str(path)
        self.best_score = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if self.best_score is not None and score <= self.best_score:
            return False

        state = dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.get_last_lr(),
            step=step + 1,  # 다음에 시작할 스텝
            score=score,
            config=config if isinstance(config, dict) else config.to_dict(),
        )
        tmp_path = self.path + ".tmp"
        torch.save(state, tmp_path)
        os.replace(tmp_path, self.path)
        self.best_score = score
        return True
