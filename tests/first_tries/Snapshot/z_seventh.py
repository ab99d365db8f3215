# mistakes: half-numpy-state, reseeds-instead, mode-changed-by-load
# lines: 24, 49, 61
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

    @staticmethod
    def _collect_random():
        numpy_state = np.random.get_state()
        rng = {
            "python": random.getstate(),
            # ndarray는 weights_only로 열리지 않으니 텐서로 바꾼다
            "numpy_keys": torch.tensor(numpy_state[1].astype(np.int64)),
            "numpy_pos": int(numpy_state[2]),
            "torch": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            rng["cuda"] = torch.cuda.get_rng_state_all()
        return rng

    @staticmethod
    def _restore_random(rng):
        random.setstate(rng["python"])
        keys = rng["numpy_keys"].numpy().astype(np.uint32)
        np.random.set_state(("MT19937", keys, rng["numpy_pos"]))
        torch.set_rng_state(rng["torch"])
        if "cuda" in rng and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(rng["cuda"])

    def save(self, path) -> None:
        contents = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "rng": self._collect_random(),
        }
        if self.scaler is not None:
            contents["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            contents["loader_seed"] = self.loader_generator.initial_seed()
        torch.save(contents, path)

    def load(self, path) -> None:
        contents = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(contents["model"])
        self.opt.load_state_dict(contents["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(contents["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.manual_seed(contents["loader_seed"])
        self._restore_random(contents["rng"])
        self.model.train()  # 이어서 학습할 수 있게
