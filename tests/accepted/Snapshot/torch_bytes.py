import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.stateful = {"model": model, "opt": opt}
        if scaler:
            self.stateful["scaler"] = scaler
        self.generators = [torch.default_generator]
        if loader_generator is not None:
            self.generators.append(loader_generator)

    def save(self, path):
        version, internal, gauss = random.getstate()
        rng = np.random.get_state(legacy=False)
        key = rng["state"].pop("key")
        with open(path, "wb") as file:
            torch.save(
                {
                    "stateful": {k: v.state_dict() for k, v in self.stateful.items()},
                    "generators": [g.get_state() for g in self.generators],
                    "cuda": [torch.cuda.get_rng_state(i) for i in range(torch.cuda.device_count())],
                    "python": [version, torch.tensor(internal), gauss],
                    "numpy": rng,
                    "key": torch.from_numpy(key.astype(np.int64)),
                },
                file,
            )

    def load(self, path):
        with open(path, "rb") as file:
            content = torch.load(file, weights_only=True, map_location="cpu")
        for name, state in content["stateful"].items():
            self.stateful[name].load_state_dict(state)
        for generator, state in zip(self.generators, content["generators"]):
            generator.set_state(state)
        for i, state in enumerate(content["cuda"]):
            torch.cuda.set_rng_state(state, i)
        version, internal, gauss = content["python"]
        random.setstate((version, tuple(internal.tolist()), gauss))
        content["numpy"]["state"]["key"] = content["key"].numpy().astype(np.uint32)
        np.random.set_state(content["numpy"])
