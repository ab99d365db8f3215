# mistakes: mixes-given-gradients, reduces-every-time, divides-loss-twice
# lines: 27, 17, 28
# hidden:
from contextlib import nullcontext

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    n = len(batches)
    if n == 0:
        raise ValueError("마이크로 배치가 없습니다")

    running = 0.0
    for i, (x, y) in enumerate(batches, start=1):
        loss = loss_fn(ddp(x), y) / n
        running += loss.item()
        # 마지막만 통신
        ctx = nullcontext() if i == n else ddp.no_sync()
        with ctx:
            loss.backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return running / n
