# mistakes: reseeds-instead, snapshot-without-scaler, mode-changed-by-load
# lines: 50, 56, 66
# hidden:
import random

import numpy as np
import torch


def _pack_numpy():
    name, keys, pos, has_gauss, cached = np.random.get_state()
    return [str(name), [int(k) for k in keys], int(pos), int(has_gauss), float(cached)]


def _unpack_numpy(packed):
    name, keys, pos, has_gauss, cached = packed
    np.random.set_state((name, np.array(keys, dtype=np.uint32), pos, has_gauss, cached))


def _pack_python():
    version, numbers, gauss = random.getstate()
    return [version, list(numbers), gauss]


def _unpack_python(packed):
    version, numbers, gauss = packed
    random.setstate((version, tuple(numbers), gauss))


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.gen = loader_generator

    def save(self, path) -> None:
        state = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "python": _pack_python(),
            "numpy": _pack_numpy(),
            "torch": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            state["cuda"] = torch.cuda.get_rng_state_all()
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.gen is not None:
            state["gen"] = self.gen.initial_seed()
        torch.save(state, path)

    def load(self, path) -> None:
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.gen is not None:
            self.gen.manual_seed(state["gen"])
        # 난수
        _unpack_python(state["python"])
        _unpack_numpy(state["numpy"])
        torch.set_rng_state(state["torch"])
        if torch.cuda.is_available() and "cuda" in state:
            torch.cuda.set_rng_state_all(state["cuda"])
        # 이어서 학습할 준비
        self.model.train()
