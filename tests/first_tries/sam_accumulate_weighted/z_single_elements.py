# mistakes: counts-elements
# lines: 16
from itertools import islice

import torch


def _sam_params(sam):
    return [p for group in sam.param_groups for p in group["params"]]


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    stream = iter(micro_batches)
    for window in iter(lambda: list(islice(stream, accum_steps)), []):
        sizes = [xb.numel() for xb, _ in window]
        shares = [size / sum(sizes) for size in sizes]

        def accumulate():
            mean = 0.0
            for share, (xb, yb) in zip(shares, window):
                loss = share * loss_fn(model(xb), yb)
                loss.backward()
                mean += loss.item()
            return mean

        sam.zero_grad()
        losses.append(accumulate())
        sam.first_step(zero_grad=True)
        accumulate()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(_sam_params(sam), max_norm)
        sam.second_step(zero_grad=True)
    return losses
