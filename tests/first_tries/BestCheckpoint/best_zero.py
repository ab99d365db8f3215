# mistakes: zero-never-saved, config-not-plain, not-atomic
# lines: 9, 21, 23
import torch


class BestCheckpoint:
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
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            }
            torch.save(checkpoint, self.path)
            return True
        return False
