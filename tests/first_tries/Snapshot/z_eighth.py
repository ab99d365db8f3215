# mistakes: snapshot-without-loader, half-numpy-state, mode-changed-by-save
# lines: 42, 25, 18
# hidden:
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
        self.model.eval()
        np_state = np.random.get_state()
        data = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "python_rng": random.getstate(),
            "numpy_keys": np_state[1].tolist(),
            "numpy_pos": int(np_state[2]),
            "torch_rng": torch.get_rng_state(),
        }
        if self.scaler is not None:
            data["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            data["generator"] = self.loader_generator.get_state()
        if torch.cuda.is_available():
            data["cuda_rng"] = torch.cuda.get_rng_state_all()
        torch.save(data, path)
        self.model.train()

    def load(self, path) -> None:
        data = torch.load(path, weights_only=True)
        self.model.load_state_dict(data["model"])
        self.opt.load_state_dict(data["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(data["scaler"])
        random.setstate(data["python_rng"])
        keys = np.array(data["numpy_keys"], dtype=np.uint32)
        np.random.set_state(("MT19937", keys, data["numpy_pos"]))
        torch.set_rng_state(data["torch_rng"])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state_all(data["cuda_rng"])
