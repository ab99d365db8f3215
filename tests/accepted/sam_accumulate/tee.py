from itertools import islice, tee

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    first, second = tee(micro_batches)
    losses = []
    while True:
        sam.zero_grad()
        values = []
        for xb, yb in islice(first, accum_steps):
            loss = loss_fn(model(xb), yb)
            loss.backward()
            values.append(loss.item())
        if not values:
            break
        sam.first_step(zero_grad=True)
        for xb, yb in islice(second, len(values)):
            loss = loss_fn(model(xb), yb)
            torch.autograd.backward(loss / len(values))
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_([p for g in sam.param_groups for p in g["params"]], max_norm)
        sam.second_step()
        losses.append(sum(values) / len(values))
    sam.zero_grad()
    return losses
