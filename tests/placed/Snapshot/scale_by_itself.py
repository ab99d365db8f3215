import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.g = loader_generator

    def _amp_state(self):
        if self.scaler is None:
            return None
        return self.scaler.get_scale()  # here: scale-only

    def save(self, path):
        np_state = np.random.get_state()
        torch.save(
            dict(
                m=self.model.state_dict(),
                o=self.opt.state_dict(),
                s=self._amp_state(),
                g=None if self.g is None else self.g.get_state(),
                r=random.getstate(),
                t=torch.get_rng_state(),
                n=(np_state[0], np_state[1].tolist()) + tuple(np_state[2:]),
            ),
            path,
        )

    def load(self, path):
        ck = torch.load(path, weights_only=True)
        self.model.load_state_dict(ck["m"])
        self.opt.load_state_dict(ck["o"])
        if self.scaler is not None:
            fresh = self.scaler.state_dict()
            fresh["scale"] = ck["s"]
            self.scaler.load_state_dict(fresh)
        if self.g is not None:
            self.g.set_state(ck["g"])
        random.setstate(ck["r"])
        torch.set_rng_state(ck["t"])
        np.random.set_state(ck["n"])
