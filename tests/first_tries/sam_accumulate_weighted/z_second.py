# mistakes: uses-stale-gradient, update-not-weighted, zero-norm-ignored
# lines: 31, 24, 25
# hidden:
from itertools import islice

import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def ascend(group):
        n = sum(len(yb) for _, yb in group)
        total = 0.0
        for xb, yb in group:
            loss = loss_fn(model(xb), yb)
            (loss * len(yb) / n).backward()
            total += loss.item() * len(yb)
        sam.first_step(zero_grad=True)
        return total / n

    def descend(group):
        k = len(group)
        for xb, yb in group:
            loss = loss_fn(model(xb), yb)
            (loss / k).backward()
        if max_norm:
            params = [p for g in sam.param_groups for p in g["params"]]
            torch.nn.utils.clip_grad_norm_(params, max_norm)
        sam.second_step(zero_grad=True)

    window_losses = []
    stream = iter(micro_batches)
    while True:
        group = list(islice(stream, accum_steps))
        if not group:
            break
        window_losses.append(ascend(group))
        descend(group)
    return window_losses
