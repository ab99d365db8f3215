import torch
from torch.nn.utils import clip_grad_norm_


def windows(iterable, size):
    window = []
    for item in iterable:
        window.append(item)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def accumulate_gradient(model, loss_fn, window):
    total = 0.0
    for xb, yb in window:
        loss = loss_fn(model(xb), yb)
        loss.backward()
        total += loss.detach().double()
    for p in model.parameters():
        p.grad /= len(window)
    return (total / len(window)).item()


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    result = []
    for window in windows(micro_batches, accum_steps):
        result.append(accumulate_gradient(model, loss_fn, window))
        sam.first_step(zero_grad=True)
        accumulate_gradient(model, loss_fn, window)
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
    return result
