# mistakes: no-accum-check, zero-grad-every-micro-batch, leftover-divided-by-full, clip-after-step
# lines: 10, 20, 23, 26
# hidden:
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 0:
        raise ValueError(f"accum_steps가 잘못되었습니다: {accum_steps}")

    stream = iter(micro_batches)
    updates = 0
    while True:
        window = list(islice(stream, accum_steps))
        if not window:
            break
        for xb, yb in window:
            opt.zero_grad()
            logits = model(xb)
            loss = loss_fn(logits, yb)
            (loss / accum_steps).backward()
        opt.step()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        updates += 1
    opt.zero_grad()
    return updates
