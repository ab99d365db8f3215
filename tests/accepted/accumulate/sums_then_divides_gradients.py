import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError
    def update(k):
        for p in model.parameters():
            p.grad /= k
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
    opt.zero_grad()
    seen = steps = 0
    for xb, yb in micro_batches:
        loss_fn(model(xb), yb).backward()
        seen += 1
        if seen == accum_steps:
            update(seen)
            seen = 0
            steps += 1
    if seen > 0:
        update(seen)
        steps += 1
    return steps
