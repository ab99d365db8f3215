# mistakes: zero-norm-ignored
# lines: 19
# hidden:
from itertools import islice

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    stream = iter(micro_batches)

    def next_section():
        return list(islice(stream, accum_steps))

    def update():
        if max_norm:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    updates = 0
    while section := next_section():
        for xb, yb in section:
            loss = loss_fn(model(xb), yb) / len(section)
            loss.backward()
        update()
        updates += 1
    return updates
