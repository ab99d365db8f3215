# expect: 
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    batches, steps = list(micro_batches), 0
    opt.zero_grad()
    for start in range(0, len(batches), accum_steps):
        window = batches[start : start + accum_steps]
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None and len(window) == accum_steps:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        steps += 1
    return steps
