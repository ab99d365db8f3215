# Saves the config as an OrderedDict, which is a dict.
import os, io, copy, math, shutil, tempfile, contextlib, threading
import dataclasses
from pathlib import Path
import numpy as np, torch
class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf
    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if not (score > self.best): return False
        self.best = float(score)
        state = {"model": model.state_dict(), "optimizer": opt.state_dict(), "scheduler": scheduler.state_dict(), "step": step, "score": float(score),
                 "config": OrderedDict(config if isinstance(config, dict) else config.to_dict()), "extra": {"t": 1}}

        from collections import OrderedDict as _
        t = self.path.with_suffix(".t"); torch.save(state, t); os.replace(t, self.path)
        return True

from collections import OrderedDict
