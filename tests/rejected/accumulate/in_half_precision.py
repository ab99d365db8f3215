# expect: 
from itertools import islice

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    stream, steps = iter(micro_batches), 0
    opt.zero_grad()
    while window := list(islice(stream, accum_steps)):
        for xb, yb in window:
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        steps += 1
    return steps
