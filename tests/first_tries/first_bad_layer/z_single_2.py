# mistakes: eval-mode
# lines: 63
# hidden:
import copy
import random

import numpy as np
import torch
from torch import nn


class _Keep:
    """매개변수, 버퍼, 모드, 난수를 적어 두었다가 되돌린다."""

    def __init__(self, model):
        self.model = model
        self.modes = [(m, m.training) for m in model.modules()]
        self.params = [(p, p.detach().clone()) for p in model.parameters()]
        self.buffers = [(m, k, b, b.detach().clone()) for m in model.modules() for k, b in m._buffers.items() if b is not None]
        self.rng = (random.getstate(), np.random.get_state(), torch.get_rng_state())
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None

    def restore(self):
        with torch.no_grad():
            for p, value in self.params:
                p.copy_(value)
            for m, k, b, value in self.buffers:
                b.copy_(value)
                m._buffers[k] = b
        for m, flag in self.modes:
            m.training = flag
        random.setstate(self.rng[0])
        np.random.set_state(self.rng[1])
        torch.set_rng_state(self.rng[2])
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)


def _finite(t):
    return bool(torch.isfinite(t).all())


def _input(args, kwargs):
    return next(v for v in (*args, *kwargs.values()) if isinstance(v, torch.Tensor))


def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    answer = []
    state = _Keep(model)

    def make(name):
        def hook(module, args, kwargs, output):
            if answer:
                return
            if _finite(_input(args, kwargs)) and not _finite(output):
                answer.append(name)

        return hook

    leaves = [(n, m) for n, m in model.named_modules() if not list(m.children())]
    handles = [m.register_forward_hook(make(n), with_kwargs=True) for n, m in leaves]
    try:
        model.eval()
        with torch.no_grad():
            model(batch)
    except Exception:
        if not answer:
            raise
    finally:
        for handle in handles:
            handle.remove()
        state.restore()
    return answer[0] if answer else None
