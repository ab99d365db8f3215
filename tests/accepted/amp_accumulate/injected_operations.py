import math

import torch
from torch.nn.utils import clip_grad_norm_


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    if scaler is None:
        enlarge, shrink, apply = (lambda loss: loss), (lambda: None), opt.step
    else:
        enlarge, shrink = scaler.scale, (lambda: scaler.unscale_(opt))

        def apply():
            scaler.step(opt)
            scaler.update()

    window = tuple(micro_batches)
    values = []
    opt.zero_grad()
    for inputs, targets in window:
        with torch.autocast(inputs.device.type, dtype):
            loss = loss_fn(model(inputs), targets)
        enlarge(loss / len(window)).backward()
        values.append(loss.item())
    shrink()
    if max_norm is not None:
        clip_grad_norm_(model.parameters(), max_norm)
    apply()
    return math.fsum(values) / len(values)
