# mistakes: clips-first-pass-only, returns-mean-of-means, uses-stale-gradient
# lines: 28, 33, 24
# hidden:
from itertools import islice

import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def one(xb, yb, total):
        loss = loss_fn(model(xb), yb)
        (loss * (len(xb) / total)).backward()
        return loss.item()

    def one_pass(section):
        total = sum(len(xb) for xb, _ in section)
        return [one(xb, yb, total) for xb, yb in section]

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    stream = iter(micro_batches)
    history = []
    while section := list(islice(stream, accum_steps)):
        # 첫 번째 패스: w에서
        losses = one_pass(section)
        clip()
        sam.first_step(zero_grad=True)
        # 두 번째 패스: w + e에서
        one_pass(section)
        sam.second_step(zero_grad=True)
        history.append(sum(losses) / len(losses))
    return history
