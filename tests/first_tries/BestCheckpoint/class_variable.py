# mistakes: rounds-score, unlisted(the best score is kept in the class)
# lines: 18, 36
# hidden: rounds-score
import os

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    best = float("-inf")

    def __init__(self, path):
        self.path = os.fspath(path)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = round(float(score), 3)
        if not score > BestCheckpoint.best:
            return False
        if not isinstance(config, dict):
            config = config.to_dict()
        tmp = self.path + ".part"
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            },
            tmp,
        )
        os.replace(tmp, self.path)
        BestCheckpoint.best = score
        return True
