# mistakes: no-accum-check, leftover-divided-by-full, leftover-not-clipped
# lines: 9, 27, 27
# hidden:
import torch
from torch import nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps가 너무 작습니다")

    number_of_updates = 0
    waiting = 0
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        (loss / accum_steps).backward()
        waiting += 1
        if waiting == accum_steps:
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            model.zero_grad()
            number_of_updates += 1
            waiting = 0

    # 마지막 구간이 남았으면 한 번 더
    if waiting > 0:
        opt.step()
        model.zero_grad()
        number_of_updates += 1
    return number_of_updates
