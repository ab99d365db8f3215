import os

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best_score = float("-inf")

    def update(self, score, *, model, opt, scheduler, step, config):
        if not score > self.best_score:
            return False
        self.best_score = float(score)
        torch.save(
            dict(
                model=model.state_dict(),
                optimizer=opt.state_dict(),
                scheduler=scheduler.state_dict(),
                step=int(step),
                score=float(score),
                config=dict(config) if isinstance(config, dict) else config.to_dict(),
            ),
            self.path + ".part",
        )
        os.rename(self.path + ".part", self.path)
        return True
