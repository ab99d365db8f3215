# mistakes: zero-never-saved, nan-saved, score-not-plain, config-not-plain, not-atomic
# lines: 11, 14, 22, 23, 25
import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self.path = path
        self.best_score = 0.0

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if score <= self.best_score:
            return False
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
