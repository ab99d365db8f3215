# mistakes: zero-never-saved, config-not-plain, not-atomic
# lines: 11, 22, 24
import torch


class BestCheckpoint:
    """점수가 가장 높을 때만 저장합니다."""

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
                "score": float(score),
                "config": config,
            }
            torch.save(checkpoint, self.path)
            return True
        return False
