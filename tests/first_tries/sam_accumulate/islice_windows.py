# mistakes: second-pass-not-divided, keeps-first-gradient, returns-sum, clip-by-value
# lines: 24, 21, 28, 26
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    it = iter(micro_batches)
    result = []
    while True:
        window = list(islice(it, accum_steps))
        if not window:
            break

        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            total += loss.item()
        sam.first_step()

        for xb, yb in window:
            loss_fn(model(xb), yb).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        result.append(total)
    return result
