# mistakes: leftover-divided-by-full, leaves-gradients, returns-micro-count
# lines: 22, 25, 26
# hidden:
from itertools import islice

import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    stream = iter(micro_batches)
    count = 0
    while True:
        window = list(islice(stream, accum_steps))  # 한 구간
        if not window:
            break
        opt.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        count += len(window)
    return count
