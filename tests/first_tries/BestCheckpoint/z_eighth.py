# mistakes: zero-never-saved, config-not-plain, not-atomic
# lines: 10, 24, 26
# hidden:
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        # NaN과 비교하면 언제나 False라서 저장되지 않는다
        if not score > self.best:
            return False

        checkpoint = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config,
        }
        torch.save(checkpoint, self.path)
        self.best = score
        return True
