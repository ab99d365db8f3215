# expect: one-backward-per-window
import itertools

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("bad accum_steps")
    it = iter(micro_batches)
    steps = 0
    while True:
        chunk = list(itertools.islice(it, accum_steps))
        if not chunk:
            break
        losses = [loss_fn(model(x), y) for x, y in chunk]
        opt.zero_grad()
        torch.stack(losses).mean().backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        steps += 1
    opt.zero_grad()
    return steps
