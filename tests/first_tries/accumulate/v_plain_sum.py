# mistakes: no-division, leaves-gradients
# lines: 21, 26
# hidden:
from itertools import islice

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError(accum_steps)
    it = iter(micro_batches)
    n_updates = 0
    while True:
        구간 = list(islice(it, accum_steps))
        if not 구간:
            break
        opt.zero_grad()
        for xb, yb in 구간:
            loss = loss_fn(model(xb), yb)
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        n_updates += 1
    return n_updates
