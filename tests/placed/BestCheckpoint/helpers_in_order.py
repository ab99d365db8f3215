import math
import os

import torch


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.high = None

    def _improves(self, value):
        if math.isnan(value):
            return False
        return self.high is None or value >= self.high  # here: greater-or-equal

    def _payload(self, value, model, opt, scheduler, step, config):
        return dict(
            model=model.state_dict(),
            optimizer=opt.state_dict(),
            scheduler=scheduler.state_dict(),
            step=step,
            score=value,
            config=config if isinstance(config, dict) else config.to_dict(),
        )

    def _commit(self, payload):
        part = self.path + ".part"
        torch.save(payload, part)
        if os.path.exists(self.path):
            os.remove(self.path)  # here: removes-before-renaming
        os.rename(part, self.path)

    def update(self, score, *, model, opt, scheduler, step, config):
        value = float(score)
        if not self._improves(value):
            return False
        self._commit(self._payload(value, model, opt, scheduler, step, config))
        self.high = value
        return True
