# mistakes: clips-first-pass-only, leftover-loss-divided-by-full
# lines: 28, 33
# hidden:
from itertools import islice

import torch


def one_pass(model, loss_fn, window):
    """구간을 한 번 훑으며 그레이디언트를 쌓고, 손실의 합을 돌려준다."""
    total = 0.0
    for xb, yb in window:
        loss = loss_fn(model(xb), yb)
        (loss / len(window)).backward()
        total += loss.item()
    return total


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    weights = [p for g in sam.param_groups for p in g["params"]]
    stream = iter(micro_batches)
    out = []

    while window := list(islice(stream, accum_steps)):
        sam.zero_grad()
        loss_sum = one_pass(model, loss_fn, window)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(weights, max_norm)
        sam.first_step(zero_grad=True)

        one_pass(model, loss_fn, window)
        sam.second_step(zero_grad=True)
        out.append(loss_sum / accum_steps)

    return out
