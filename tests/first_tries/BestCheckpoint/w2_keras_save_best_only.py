# mistakes: zero-never-saved, score-not-plain, config-not-plain, missing-scheduler-state, not-atomic
# lines: 10, 20, 21, 18, 15
# hidden:
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not score > self.best:
            return False
        torch.save(
            {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            },
            self.path,
        )
        self.best = score
        return True
