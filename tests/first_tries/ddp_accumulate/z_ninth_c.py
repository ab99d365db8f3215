# mistakes: mixes-given-gradients, reduces-every-time
# lines: 10, 18
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    count = len(batches)
    if count == 0:
        raise ValueError("no micro batches")

    running = 0.0
    for i, (x, y) in enumerate(batches, start=1):
        is_last = i == count
        loss = loss_fn(ddp(x), y)
        running += loss.item()
        # 마지막에만 합친다
        with nullcontext() if is_last else ddp.no_sync():
            (loss / count).backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return running / count
