# mistakes: no-accum-check, clip-every-micro-batch, leaves-gradients
# lines: 20, 30, 31
# hidden:
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_


def _windows(stream, size):
    it = iter(stream)
    while True:
        window = list(islice(it, size))
        if not window:
            return
        yield window


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps")

    updates = 0
    for window in _windows(micro_batches, accum_steps):
        opt.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        updates += 1
    return updates
