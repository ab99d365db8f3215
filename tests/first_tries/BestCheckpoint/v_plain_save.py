# mistakes: zero-never-saved, saves-last, config-not-plain, score-not-plain, not-atomic
# lines: 10, 23, 20, 19, 22
# hidden:
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if score > self.best:
            checkpoint = {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            }
            torch.save(checkpoint, self.path)
            return True
        return False
