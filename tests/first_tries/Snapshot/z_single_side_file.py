# mistakes: two-files
# lines: 31
import os
import pickle
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
        tensors = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        if self.scaler is not None:
            tensors["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            tensors["loader"] = self.loader_generator.get_state()
        torch.save(tensors, path)
        # ndarray는 weights_only로 열리지 않으므로 따로 둡니다
        with open(os.fspath(path) + ".rng", "wb") as f:
            pickle.dump((random.getstate(), np.random.get_state()), f)

    def load(self, path) -> None:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(tensors["model"])
        self.opt.load_state_dict(tensors["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(tensors["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.set_state(tensors["loader"])
        side = os.fspath(path) + ".rng"
        if os.path.exists(side):
            with open(side, "rb") as f:
                python_state, numpy_state = pickle.load(f)
            random.setstate(python_state)
            np.random.set_state(numpy_state)
        torch.set_rng_state(tensors["torch"])
        if tensors["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(tensors["cuda"])
