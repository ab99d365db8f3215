# mistakes: second-pass-not-divided, clips-each-micro-batch, returns-perturbed-loss, leftover-loss-divided-by-full
# lines: 22, 25, 23, 27
# hidden:
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    it = iter(micro_batches)
    results = []
    while window := list(islice(it, accum_steps)):
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
        sam.first_step(zero_grad=True)

        loss_sum = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            loss_sum += loss.item()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        results.append(loss_sum / accum_steps)
    return results
