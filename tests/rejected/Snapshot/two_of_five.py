# expect: half-numpy-state
import random

import numpy as np
import torch


class Snapshot:

    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator

    def save(self, path) -> None:
        _, np_keys, np_pos, *_ = np.random.get_state()
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "py_rng": random.getstate(),
            "np_rng": [np_keys.tolist(), int(np_pos)],
            "cpu_rng": torch.get_rng_state(),
            "gpu_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            state["loader"] = self.loader_generator.get_state()
        torch.save(state, path)

    def load(self, path) -> None:
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scaler is not None and "scaler" in state:
            self.scaler.load_state_dict(state["scaler"])
        if self.loader_generator is not None and "loader" in state:
            self.loader_generator.set_state(state["loader"])

        keys, pos = state["np_rng"]
        np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), pos))
        random.setstate(state["py_rng"])
        torch.set_rng_state(state["cpu_rng"])
        if state["gpu_rng"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["gpu_rng"])
