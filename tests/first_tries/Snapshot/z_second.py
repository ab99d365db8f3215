# mistakes: half-numpy-state, reseeds-instead, mode-changed-by-load
# lines: 25, 47, 53
# hidden:
import random

import numpy as np
import torch


def _collect_rng():
    kind, keys, pos, has_gauss, cached = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy_keys": torch.from_numpy(keys.astype(np.int64)),
        "numpy_pos": int(pos),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _apply_rng(rng):
    version, internal, gauss_next = rng["python"]
    random.setstate((version, tuple(internal), gauss_next))
    keys = rng["numpy_keys"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", keys, rng["numpy_pos"], 0, 0.0))
    torch.set_rng_state(rng["torch"])
    if torch.cuda.is_available() and rng["cuda"]:
        torch.cuda.set_rng_state_all(rng["cuda"])


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator

    def save(self, path) -> None:
        state = {}
        state["model"] = self.model.state_dict()
        state["opt"] = self.opt.state_dict()
        state["rng"] = _collect_rng()
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            # 섞는 순서를 정하는 시드
            state["generator"] = self.loader_generator.initial_seed()
        torch.save(state, path)

    def load(self, path) -> None:
        state = torch.load(path, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.model.train()
        self.opt.load_state_dict(state["opt"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.manual_seed(state["generator"])
        _apply_rng(state["rng"])
