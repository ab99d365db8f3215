# mistakes: no-accum-check, leaves-gradients, clip-after-step|no-clip|clip-before-backward, returns-micro-count
# lines: 9, 17, 24, 25
from itertools import islice

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 0:
        raise ValueError("accum_steps")
    stream = iter(micro_batches)
    updates = 0
    while True:
        window = list(islice(stream, accum_steps))
        if not window:
            break
        opt.zero_grad()
        for x, y in window:
            loss = loss_fn(model(x), y) / len(window)
            loss.backward()
        opt.step()
        # gradient clipping
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        updates += len(window)
    return updates
