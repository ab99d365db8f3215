import random

import numpy as np
import torch


def numpy_as_plain():
    kind, keys, *others = np.random.get_state()
    return [kind, keys.tolist(), *others]


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator

    def save(self, path):
        state = self._states()
        state["rng"] = {"python": random.getstate(), "numpy": numpy_as_plain(), "torch": torch.get_rng_state()}
        torch.save(state, path)

    def _states(self):
        state = {"model": self.model.state_dict(), "opt": self.opt.state_dict()}
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            state["loader"] = self.loader_generator.get_state()
        return state

    def _to_objects(self, state):
        self.model.load_state_dict(state["model"])
        self.model.train()  # here: mode-changed-by-load
        self.opt.load_state_dict(state["opt"])
        if self.loader_generator is not None:  # before: snapshot-without-scaler
            self.loader_generator.set_state(state["loader"])

    def _to_streams(self, rng):
        random.setstate(rng["python"])
        np.random.set_state(tuple(rng["numpy"]))
        torch.set_rng_state(rng["torch"])

    def load(self, path):
        state = torch.load(path, weights_only=True)
        self._to_objects(state)
        self._to_streams(state["rng"])
