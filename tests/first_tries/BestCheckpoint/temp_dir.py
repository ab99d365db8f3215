# mistakes: config-object-only, score-not-plain, temporary-elsewhere
# lines: 26, 25, 29
import os
import shutil
import tempfile

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = path
        self.best = -float("inf")

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not score > self.best:
            return False
        self.best = score

        ckpt = {}
        ckpt["model"] = model.state_dict()
        ckpt["optimizer"] = opt.state_dict()
        ckpt["scheduler"] = scheduler.state_dict()
        ckpt["step"] = step
        ckpt["score"] = score
        ckpt["config"] = config.to_dict()

        # 임시 파일에 먼저 쓰고 옮긴다
        tmp = os.path.join(tempfile.gettempdir(), "checkpoint.tmp")
        torch.save(ckpt, tmp)
        shutil.move(tmp, self.path)
        return True
