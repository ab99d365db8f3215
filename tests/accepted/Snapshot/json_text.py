import json
import os
import random
from pathlib import Path

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model, self.opt, self.scaler, self.generator = model, opt, scaler, loader_generator

    def save(self, path):
        n = np.random.get_state()
        plain = {
            "python": random.getstate(),
            "numpy": [n[0], [int(k) for k in n[1]], n[2], n[3], n[4]],
            "scaler": self.scaler and self.scaler.state_dict(),
        }
        tensors = {"model": self.model.state_dict(), "opt": self.opt.state_dict(), "torch": torch.get_rng_state()}
        if torch.cuda.is_available():
            tensors["cuda"] = torch.cuda.get_rng_state_all()
        if self.generator:
            tensors["loader"] = self.generator.get_state()
        beside = Path(f"{path}.tmp")
        torch.save({"plain": json.dumps(plain), "tensors": tensors}, beside)
        os.replace(beside, path)

    def load(self, path):
        file = torch.load(path, weights_only=True)
        plain, tensors = json.loads(file["plain"]), file["tensors"]
        version, internal, gauss = plain["python"]
        random.setstate((version, tuple(internal), gauss))
        np.random.set_state(tuple(plain["numpy"]))
        torch.random.set_rng_state(tensors["torch"])
        if "cuda" in tensors:
            torch.cuda.set_rng_state_all([state.cpu() for state in tensors["cuda"]])
        if self.scaler:
            self.scaler.load_state_dict(plain["scaler"])
        if self.generator:
            self.generator.set_state(tensors["loader"])
        self.model.load_state_dict(tensors["model"])
        self.opt.load_state_dict(tensors["opt"])
