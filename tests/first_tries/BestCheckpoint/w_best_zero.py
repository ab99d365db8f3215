# mistakes: zero-never-saved, not-atomic, missing-scheduler-state, config-not-plain
# lines: 12, 25, 20, 23
# hidden:
import torch


class BestCheckpoint:
    """점수가 가장 높을 때 저장한다."""

    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if score > self.best:
            self.best = score
            checkpoint = {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            }
            torch.save(checkpoint, self.path)
            return True
        return False
