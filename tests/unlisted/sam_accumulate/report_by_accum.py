# mistakes: 짧은 마지막 구간의 손실을 보고할 때만 accum_steps로 나눔
# lines: 24
from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    batches = iter(micro_batches)
    losses = []
    while window := list(islice(batches, accum_steps)):
        sam.zero_grad()
        total = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            total += loss.item()
        sam.first_step(zero_grad=True)
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(total / accum_steps)
    return losses
