# mistakes: 구간마다 window_loss를 0으로 되돌리지 않음
# lines: 12
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    total = 0.0
    while window := list(islice(stream, accum_steps)):
        for x, y in window:
            loss = loss_fn(model(x), y)
            (loss / len(window)).backward()
            total += loss.item()
        sam.first_step(zero_grad=True)
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(total / len(window))
    return losses
