# mistakes: forces-eval-mode
# lines: 23
# hidden:
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    batches = iter(micro_batches)
    losses = []
    window = list(islice(batches, accum_steps))
    while window:
        n = len(window)
        mean = 0.0
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / n
            loss.backward()
            mean += loss.item()
        sam.first_step(zero_grad=True)
        modes = [(m, m.training) for m in model.modules()]
        model.eval()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / n).backward()
        for m, flag in modes:
            m.training = flag
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_([p for g in sam.param_groups for p in g["params"]], max_norm)
        sam.second_step(zero_grad=True)
        losses.append(mean)
        window = list(islice(batches, accum_steps))
    return losses
