import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        parts = [model, opt] if scaler is None else [model, opt, scaler]
        self.parts = [(part.state_dict, part.load_state_dict) for part in parts]
        self.parts += [
            (random.getstate, random.setstate),
            (self.numpy_out, self.numpy_in),
            (torch.random.get_rng_state, torch.random.set_rng_state),
        ]
        for device in range(torch.cuda.device_count()):
            self.parts.append(
                (
                    lambda device=device: torch.cuda.get_rng_state(device),
                    lambda state, device=device: torch.cuda.set_rng_state(state.cpu(), device),
                )
            )
        if loader_generator is not None:
            self.parts.append((loader_generator.get_state, loader_generator.set_state))

    @staticmethod
    def numpy_out():
        kind, key, *others = np.random.get_state()
        return kind, key.tobytes(), others

    @staticmethod
    def numpy_in(state):
        kind, key, others = state
        np.random.set_state((kind, np.frombuffer(key, dtype=np.uint32), *others))

    def save(self, path):
        torch.save([get() for get, _ in self.parts], path)

    def load(self, path):
        for state, (_, put) in zip(torch.load(path, weights_only=True), self.parts, strict=True):
            put(state)
