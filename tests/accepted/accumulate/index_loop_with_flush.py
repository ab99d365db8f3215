import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    micro_batches = list(micro_batches)
    n = len(micro_batches)
    steps = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        window = min(accum_steps, n - i // accum_steps * accum_steps)
        loss = loss_fn(model(xb), yb) / window
        loss.backward()
        if (i + 1) % accum_steps == 0 or i + 1 == n:
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            steps += 1
    return steps
