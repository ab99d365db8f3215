# mistakes: nan-saved, removes-before-renaming
# lines: 18, 41
# hidden:
import os

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if self.best is not None and score <= self.best:
            return False
        self.best = score

        if not isinstance(config, dict):
            config = config.to_dict()

        content = dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            score=score,
            config=config,
        )
        self._write(content)
        return True

    def _write(self, content):
        part = self.path + ".part"
        torch.save(content, part)
        # 이름이 겹치지 않게 예전 것을 지우고 바꾼다
        if os.path.exists(self.path):
            os.remove(self.path)
        os.rename(part, self.path)
