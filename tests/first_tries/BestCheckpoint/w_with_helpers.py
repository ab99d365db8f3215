# mistakes: first-nan-saved, score-not-plain, missing-optimizer-state, config-object-only
# lines: 17, 33, 30, 34
# hidden:
import os
from pathlib import Path

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best_score = None

    def _is_better(self, score):
        # 첫 점수는 무조건 저장
        return self.best_score is None or score > self.best_score

    def _write(self, state):
        # 옆에 쓰고 이름 바꾸기
        tmp = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, tmp)
        os.replace(tmp, self.path)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not self._is_better(score):
            return False
        state = {}
        state["model"] = model.state_dict()
        state["opt"] = opt.state_dict()
        state["scheduler"] = scheduler.state_dict()
        state["step"] = step
        state["score"] = score
        state["config"] = config.to_dict()
        self._write(state)
        self.best_score = score
        return True
