# mistakes: zero-never-saved, greater-or-equal, score-not-plain, not-atomic
# lines: 11, 14, 22, 26
from dataclasses import asdict, is_dataclass

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config):
        if score >= self.best:
            self.best = score
            cfg = asdict(config) if is_dataclass(config) else dict(config)
            ckpt = {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": cfg,
            }
            # 최고 점수 갱신 -> 저장
            torch.save(ckpt, self.path)
            return True
        return False
