# mistakes: reseeds-instead
# lines: 42
# hidden:
import random

import numpy as np
import torch


def pack_numpy_state():
    name, keys, pos, has_gauss, cached = np.random.get_state()
    return [name, [int(k) for k in keys], int(pos), int(has_gauss), float(cached)]


def unpack_numpy_state(packed):
    name, keys, pos, has_gauss, cached = packed
    np.random.set_state((name, np.array(keys, dtype=np.uint32), pos, has_gauss, cached))


class Snapshot:
    """에폭을 시작하는 순간의 학습 상태를 파일 하나에 모두 남깁니다."""

    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator

    def save(self, path) -> None:
        everything = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "python": random.getstate(),
            "numpy": pack_numpy_state(),
            "torch": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            everything["cuda"] = torch.cuda.get_rng_state_all()
        if self.scaler is not None:
            everything["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            everything["loader"] = self.loader_generator.initial_seed()
        torch.save(everything, path)

    def load(self, path) -> None:
        everything = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(everything["model"])
        self.opt.load_state_dict(everything["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(everything["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.manual_seed(everything["loader"])
        random.setstate(everything["python"])
        unpack_numpy_state(everything["numpy"])
        torch.set_rng_state(everything["torch"])
        if torch.cuda.is_available() and "cuda" in everything:
            torch.cuda.set_rng_state_all(everything["cuda"])
