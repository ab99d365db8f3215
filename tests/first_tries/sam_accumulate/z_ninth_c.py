# mistakes: clips-first-pass-only
# lines: 28
# hidden:
import itertools

import torch


def _pass_over(model, loss_fn, window):
    """구간을 한 번 돌며 평균 손실의 그레이디언트를 쌓는다."""
    k = len(window)
    mean = 0.0
    for xb, yb in window:
        loss = loss_fn(model(xb), yb) / k
        loss.backward()
        mean += loss.item()
    return mean


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    source = iter(micro_batches)
    window = list(itertools.islice(source, accum_steps))
    while window:
        sam.zero_grad()
        losses.append(_pass_over(model, loss_fn, window))
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)

        _pass_over(model, loss_fn, window)
        sam.second_step(zero_grad=True)

        window = list(itertools.islice(source, accum_steps))
    return losses
