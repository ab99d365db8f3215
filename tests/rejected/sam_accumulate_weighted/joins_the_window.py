# expect: joins-the-window
from itertools import islice

import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    stream, losses = iter(micro_batches), []
    while window := list(islice(stream, accum_steps)):
        xb, yb = (torch.cat(parts) for parts in zip(*window))
        sam.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        sam.first_step(zero_grad=True)
        loss_fn(model(xb), yb).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(loss.item())
    return losses
