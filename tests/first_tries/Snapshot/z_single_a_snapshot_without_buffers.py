# mistakes: snapshot-without-buffers
# lines: 37
# hidden:
import random

import numpy as np
import torch


def _numpy_state():
    name, keys, pos, has_gauss, cached = np.random.get_state()
    return [name, keys.tolist(), int(pos), int(has_gauss), float(cached)]


def _set_numpy_state(saved):
    name, keys, pos, has_gauss, cached = saved
    np.random.set_state((name, np.array(keys, dtype=np.uint32), pos, has_gauss, cached))


def _set_python_state(saved):
    version, internal, gauss = saved
    random.setstate((version, tuple(internal), gauss))


def _cuda_states():
    return torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.gen = loader_generator

    def _collect(self):
        weights = {name: p.detach() for name, p in self.model.named_parameters()}
        out = {"weights": weights, "opt": self.opt.state_dict()}
        out["python"] = list(random.getstate())
        out["numpy"] = _numpy_state()
        out["torch"] = torch.get_rng_state()
        out["cuda"] = _cuda_states()
        if self.scaler is not None:
            out["scaler"] = self.scaler.state_dict()
        if self.gen is not None:
            out["gen"] = self.gen.get_state()
        return out

    def save(self, path) -> None:
        torch.save(self._collect(), path)

    def load(self, path) -> None:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(saved["weights"], strict=False)
        self.opt.load_state_dict(saved["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(saved["scaler"])
        if self.gen is not None:
            self.gen.set_state(saved["gen"])
        _set_python_state(saved["python"])
        _set_numpy_state(saved["numpy"])
        torch.set_rng_state(saved["torch"])
        if saved["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(saved["cuda"])
