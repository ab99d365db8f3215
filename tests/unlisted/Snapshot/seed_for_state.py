# mistakes: 제너레이터의 상태가 아니라 처음 시드를 저장함
# lines: 41
import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model, self.opt = model, opt
        self.scaler, self.generator = scaler, loader_generator

    def save(self, path):
        name, keys, pos, has_gauss, cached = np.random.get_state()
        data = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "python": random.getstate(),
            "numpy": [name, keys.tolist(), pos, has_gauss, cached],
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all(),
        }
        if self.scaler is not None:
            data["scaler"] = self.scaler.state_dict()
        if self.generator is not None:
            data["loader"] = self.generator.initial_seed()
        torch.save(data, path)

    def load(self, path):
        data = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(data["model"])
        self.opt.load_state_dict(data["opt"])
        random.setstate(data["python"])
        np.random.set_state(tuple(data["numpy"]))
        torch.set_rng_state(data["torch"])
        torch.cuda.set_rng_state_all(data["cuda"])
        if self.scaler is not None:
            self.scaler.load_state_dict(data["scaler"])
        if self.generator is not None:
            self.generator.manual_seed(data["loader"])
