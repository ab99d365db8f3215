# mistakes: nan-only, buffers-not-restored, error-hides-the-name
# lines: 15, 27, 38
# hidden:
import random

import numpy as np
import torch
from torch import nn


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    found = []

    def is_fine(t):
        return not torch.isnan(t).any().item()

    def make_hook(name):
        def hook(module, inputs, output):
            if found:
                return
            if is_fine(inputs[0]) and not is_fine(output):
                found.append(name)

        return hook

    # 끝나고 되돌릴 것
    remembered = dict(model.named_buffers())
    python_rng, numpy_rng = random.getstate(), np.random.get_state()
    cpu_rng = torch.get_rng_state()
    gpu_rng = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    handles = [
        layer.register_forward_hook(make_hook(name))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        with torch.no_grad():
            model(batch)
    finally:
        for handle in handles:
            handle.remove()
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(remembered[name])
        random.setstate(python_rng)
        np.random.set_state(numpy_rng)
        torch.set_rng_state(cpu_rng)
        if gpu_rng is not None:
            torch.cuda.set_rng_state_all(gpu_rng)

    return found[0] if found else None
