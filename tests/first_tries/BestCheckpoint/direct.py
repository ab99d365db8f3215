# mistakes: zero-never-saved, score-not-plain, config-not-plain, not-atomic
# lines: 9, 19, 20, 22
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if score > self.best:
            self.best = score
            ckpt = {
                "model": model.state_dict(),
                "optimizer": opt.state_dict(),
                "scheduler": scheduler.state_dict(),
                "step": step,
                "score": score,
                "config": config,
            }
            torch.save(ckpt, self.path)
            return True
        return False
