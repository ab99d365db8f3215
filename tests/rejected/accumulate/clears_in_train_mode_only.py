# expect: 
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    batches, steps = list(micro_batches), 0
    for start in range(0, len(batches), accum_steps):
        if model.training:
            opt.zero_grad()
        window = batches[start : start + accum_steps]
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        steps += 1
    if model.training:
        opt.zero_grad()
    return steps
