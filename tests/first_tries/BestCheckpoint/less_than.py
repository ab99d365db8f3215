# mistakes: greater-or-equal, nan-saved, missing-scheduler-state, score-not-plain, not-atomic
# lines: 13, 13, 19, 21, 24
import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        # 지금까지보다 낮으면 저장하지 않는다
        if self.best is not None and score < self.best:
            return False
        self.best = score
        cfg = config if isinstance(config, dict) else config.to_dict()
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "step": step,
            "score": score,
            "config": cfg,
        }
        torch.save(state, self.path)
        return True
