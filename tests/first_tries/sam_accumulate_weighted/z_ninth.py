# mistakes: keeps-first-gradient, update-not-weighted, returns-mean-of-means
# lines: 31, 36, 41
# hidden:
from itertools import islice

import torch


def windows_of(iterable, size):
    it = iter(iterable)
    while True:
        chunk = list(islice(it, size))
        if not chunk:
            return
        yield chunk


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    params = [p for group in sam.param_groups for p in group["params"]]
    result = []
    for window in windows_of(micro_batches, accum_steps):
        total = sum(len(xb) for xb, _ in window)
        sam.zero_grad()

        # 첫 번째 패스: w에서
        losses_at_w = []
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss * len(xb) / total).backward()
            losses_at_w.append(loss.item())
        sam.first_step()

        # 두 번째 패스: w + e에서
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, max_norm)
        sam.second_step(zero_grad=True)

        result.append(sum(losses_at_w) / len(losses_at_w))
    return result
