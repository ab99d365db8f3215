# mistakes: reduces-every-time, no-division, mixes-given-gradients
# lines: 18, 20, 25
# hidden:
import contextlib

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    micro_batches = list(micro_batches)
    k = len(micro_batches)
    if k == 0:
        raise ValueError("no micro batches")
    losses = []
    for i, (x, y) in enumerate(micro_batches):
        ctx = ddp.no_sync() if i < k - 1 else contextlib.nullcontext()
        out = ddp(x)
        with ctx:
            loss = loss_fn(out, y)
            loss.backward()
        losses.append(loss.item())
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return sum(losses) / k
