# mistakes: greater-or-equal, not-atomic
# lines: 21, 39
# hidden:
import dataclasses
import math
import os
import shutil

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = os.fspath(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score):
            return False
        if score < self.best:
            return False
        self.best = score

        if not isinstance(config, dict):
            config = dataclasses.asdict(config)

        data = {}
        data["model"] = model.state_dict()
        data["optimizer"] = opt.state_dict()
        data["scheduler"] = scheduler.state_dict()
        data["step"] = step
        data["score"] = score
        data["config"] = config

        # 임시 파일에 먼저 쓰고 옮긴다
        tmp = self.path + ".tmp"
        torch.save(data, tmp)
        shutil.copyfile(tmp, self.path)
        os.remove(tmp)
        return True
