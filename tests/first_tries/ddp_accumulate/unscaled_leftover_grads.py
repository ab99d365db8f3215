# mistakes: no-division, mixes-given-gradients, fails-on-empty
# lines: 18, 13, 11
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    n = len(batches)
    total = 0.0
    for i, (x, y) in enumerate(batches):
        # 마지막에만 합친다
        ctx = nullcontext() if i == n - 1 else ddp.no_sync()
        with ctx:
            loss = loss_fn(ddp(x), y)
            loss.backward()
        total += loss.item()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return total / n
