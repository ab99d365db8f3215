import torch
import torch.nn as nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    buffer = []
    total = 0

    def flush():
        nonlocal total
        if not buffer:
            return
        def closure():
            opt.zero_grad()
            mean = 0.0
            for xb, yb in buffer:
                loss = loss_fn(model(xb), yb) / len(buffer)
                loss.backward()
                mean += loss.item()
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            return mean
        opt.step(closure)
        opt.zero_grad()
        total += 1
        buffer.clear()

    for pair in micro_batches:
        buffer.append(pair)
        if len(buffer) >= accum_steps:
            flush()
    flush()
    return total
