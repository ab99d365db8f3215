# mistakes: zero-taken-for-none, first-nan-saved, not-atomic
# lines: 19, 20, 27
# hidden:
import os
import shutil

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def _is_record(self, score):
        # 아직 점수가 없으면 무조건 기록
        if not self.best:
            return True
        return score > self.best

    def _write(self, payload):
        # 먼저 임시 파일에 다 쓰고, 끝나면 진짜 자리로 옮긴다
        temp = self.path + ".tmp"
        torch.save(payload, temp)
        shutil.copyfile(temp, self.path)
        os.remove(temp)

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if not self._is_record(score):
            return False
        if not isinstance(config, dict):
            config = config.to_dict()
        self._write(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": int(step),
                "score": score,
                "config": config,
            }
        )
        self.best = score
        return True
