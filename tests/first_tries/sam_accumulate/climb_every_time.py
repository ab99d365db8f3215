# mistakes: climbs-every-micro-batch, leftover-divided-by-full, clips-first-pass-only|clips-nothing, returns-last-loss
# lines: 19, 20, 23, 24
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    history = []
    it = iter(micro_batches)
    while True:
        window = list(islice(it, accum_steps))
        if not window:
            break
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            loss.backward()
            sam.first_step(zero_grad=True)
            (loss_fn(model(xb), yb) / accum_steps).backward()
        sam.second_step()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        history.append(loss.item())
    return history
