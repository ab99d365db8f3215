import torch
from torch.nn.utils import clip_grad_norm_


def with_last(iterable):
    """(원소, 마지막인가)를 차례로 냅니다."""
    it = iter(iterable)
    try:
        held = next(it)
    except StopIteration:
        return
    for item in it:
        yield held, False
        held = item
    yield held, True


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    count, waiting = 0, []
    for batch, is_last in with_last(micro_batches):
        waiting.append(batch)
        if len(waiting) == accum_steps or is_last:
            opt.zero_grad()
            for xb, yb in waiting:
                (loss_fn(model(xb), yb) / len(waiting)).backward()
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            count += 1
            waiting = []
    opt.zero_grad()
    return count
