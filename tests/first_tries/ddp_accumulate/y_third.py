# mistakes: clips-each, mixes-given-gradients
# lines: 25, 19
# hidden:
from contextlib import nullcontext

from torch.nn.utils import clip_grad_norm_


def _one(ddp, loss_fn, x, y, scale):
    loss = loss_fn(ddp(x), y)
    (loss * scale).backward()
    return loss.item()


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    data = [pair for pair in micro_batches]
    if not data:
        raise ValueError("empty window")
    last = len(data) - 1
    losses = []
    for k, (x, y) in enumerate(data):
        with nullcontext() if k == last else ddp.no_sync():
            losses.append(_one(ddp, loss_fn, x, y, 1 / len(data)))
        if max_norm is not None:
            clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return sum(losses) / len(losses)
