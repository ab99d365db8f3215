import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.generator = loader_generator

    def save(self, path):
        data = self.everything()
        with open(path, "wb") as file:
            torch.save(data, file)

    def everything(self):
        self.model.eval()  # here: mode-changed-by-save
        np_name, np_keys, np_pos, np_gauss, np_cached = np.random.get_state()
        data = {
            "weights": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "random": random.getstate(),
            "np": (np_name, np_keys.tolist(), np_pos, np_gauss, np_cached),
            "torch": torch.get_rng_state(),
        }
        if self.scaler is not None:
            data["scaler"] = self.scaler.state_dict()
        if self.generator is not None:
            data["generator"] = self.generator.get_state()
        return data

    def load(self, path):
        data = torch.load(path, weights_only=True)
        self.model.load_state_dict(data["weights"])
        self.opt.load_state_dict(data["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(data["scaler"])
        if self.generator is not None:
            self.generator.set_state(data["generator"])
        random.setstate(data["random"])
        np.random.set_state(data["np"])
        torch.set_rng_state(data["torch"])
