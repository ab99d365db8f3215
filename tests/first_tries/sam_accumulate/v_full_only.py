# mistakes: drops-leftover, clips-first-pass-only, second-pass-not-divided
# lines: 14, 24, 28
# hidden:
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses = []
    batches = iter(micro_batches)
    while True:
        window = list(islice(batches, accum_steps))
        if len(window) < accum_steps:
            break

        sam.zero_grad()
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / len(window)
            loss.backward()
            window_loss += loss.item()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            loss_fn(model(xb), yb).backward()
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
