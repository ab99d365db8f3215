import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self._owners = {"net": model, "optim": opt}
        self._scaler = scaler
        self._gen = loader_generator

    def save(self, path):
        blob = {"parts": self._parts(), "rng": self._rng()}
        torch.save(blob, path)

    def load(self, path):
        blob = torch.load(path, weights_only=True)
        for key, owner in self._owners.items():
            owner.load_state_dict(blob["parts"][key])
        if self._scaler is not None:
            self._scaler.load_state_dict(blob["parts"]["scaler"])
        self._put_back(blob["rng"])
        if self._gen is not None:
            self._gen.set_state(blob["parts"]["gen"])

    def _parts(self):
        parts = {key: owner.state_dict() for key, owner in self._owners.items()}
        if self._scaler is not None:
            parts["scaler"] = self._scaler.state_dict()
        if self._gen is not None:
            parts["gen"] = self._gen.get_state()
        return parts

    def _rng(self):
        kind, keys, pos, has_gauss, cached = np.random.get_state()
        return {
            "py": random.getstate(),
            "np": [kind, keys.tolist(), pos, has_gauss, cached],
            "cpu": torch.initial_seed(),  # here: reseeds-instead
        }

    def _put_back(self, rng):
        random.setstate(rng["py"])
        kind, keys, *others = rng["np"]
        np.random.set_state((kind, np.array(keys, dtype=np.uint32), *others))
        torch.manual_seed(rng["cpu"])
