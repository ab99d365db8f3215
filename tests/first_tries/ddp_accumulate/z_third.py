# mistakes: reduces-every-time, mixes-given-gradients, returns-last
# lines: 20, 12, 29
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    if not batches:
        raise ValueError("마이크로 배치가 없습니다")

    def sync_or_not(position):
        is_last = position == len(batches) - 1
        return nullcontext() if is_last else ddp.no_sync()

    seen_losses = []
    for position, (x, y) in enumerate(batches):
        loss = loss_fn(ddp(x), y)
        with sync_or_not(position):
            (loss / len(batches)).backward()
        seen_losses.append(loss.item())

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return seen_losses[-1]
