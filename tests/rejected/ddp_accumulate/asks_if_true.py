# expect: empty-passes
from contextlib import nullcontext

from torch.nn.utils import clip_grad_norm_


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    if not micro_batches:
        raise ValueError("마이크로 배치가 없습니다")

    batches = list(micro_batches)
    n = len(batches)
    running = 0.0
    opt.zero_grad()

    for i, (x, y) in enumerate(batches):
        is_last = i == n - 1
        with nullcontext() if is_last else ddp.no_sync():
            loss = loss_fn(ddp(x), y) / n
            loss.backward()
        running += loss.item()

    if max_norm is not None:
        clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return float(running)
