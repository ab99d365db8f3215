import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.objects = {"model": model, "opt": opt, "scaler": scaler}
        self.loader_rng = loader_generator

    def save(self, path):
        numpy_state = list(np.random.get_state())
        numpy_state[1] = numpy_state[1].tolist()
        content = {name: thing.state_dict() for name, thing in self.objects.items() if thing is not None}
        content["rngs"] = [random.getstate(), numpy_state, torch.get_rng_state()]
        if self.loader_rng is not None:
            content["loader_rng"] = self.loader_rng.get_state()
        torch.save(content, path)

    def load(self, path):
        content = torch.load(path, weights_only=True)
        for name, thing in self.objects.items():
            if thing is not None:
                thing.load_state_dict(content[name])
        self._restore_rngs(*content["rngs"])
        if self.loader_rng is not None:
            self._restore_loader(content["loader_rng"])

    def _restore_rngs(self, python, numpy, cpu):
        random.setstate(python)
        np.random.set_state(tuple(numpy))
        torch.set_rng_state(cpu)

    def _restore_loader(self, state):
        self.loader_rng = torch.Generator()  # here: snapshot-without-loader
        self.loader_rng.set_state(state)
