# expect: reseeds-instead+state-of-construction
import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.gen = loader_generator
        self.np_state = np.random.get_state()

    def save(self, path):
        name, keys, pos, has_gauss, cached = self.np_state
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "scaler": self.scaler.state_dict() if self.scaler else None,
            "gen": self.gen.initial_seed() if self.gen is not None else None,
            "py": random.getstate(),
            "np": (name, torch.from_numpy(keys.astype(np.int64)), pos, has_gauss, cached),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        torch.save(state, path)

    def load(self, path):
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scaler and state["scaler"]:
            self.scaler.load_state_dict(state["scaler"])
        if self.gen is not None:
            self.gen.manual_seed(state["gen"])
        random.setstate(state["py"])
        name, keys, pos, has_gauss, cached = state["np"]
        np.random.set_state((name, keys.numpy().astype(np.uint32), pos, has_gauss, cached))
        torch.set_rng_state(state["torch"])
        if state["cuda"]:
            torch.cuda.set_rng_state_all(state["cuda"])
