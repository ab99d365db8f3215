import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model, self.opt = model, opt
        self.scaler, self.loader_generator = scaler, loader_generator

    def _collect(self):
        algorithm, keys, pos, gauss, cached = np.random.get_state()
        out = {"model": self.model.state_dict(), "opt": self.opt.state_dict()}
        out["python"] = random.getstate()
        out["numpy"] = (algorithm, torch.from_numpy(keys.astype("int64")), pos, gauss, cached)
        out["torch"] = torch.random.get_rng_state()
        if self.scaler:
            out["scaler"] = self.scaler.state_dict()
        if self.loader_generator:
            out["loader"] = self.loader_generator.get_state()
        return out

    def save(self, path):
        torch.save(self._collect(), path)

    def _seeds(self, saved):
        random.setstate(saved["python"])
        torch.random.set_rng_state(saved["torch"])  # before: forgets-numpy-state

    def load(self, path):
        saved = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(saved["model"])
        self.opt.load_state_dict(saved["opt"])
        if self.scaler:
            self.scaler.load_state_dict(saved["scaler"])
        if self.loader_generator:
            self.loader_generator.set_state(saved["loader"])
        self._seeds(saved)
