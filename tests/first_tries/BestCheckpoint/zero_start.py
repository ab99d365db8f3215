# mistakes: zero-never-saved, not-atomic, score-not-plain, config-not-plain
# lines: 9, 22, 19, 20
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best_score = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if score > self.best_score:
            self.best_score = score
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
