# mistakes: leftover-divided-by-full, early-return
# lines: 13, 23
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps <= 0:
        raise ValueError("accum_steps는 1보다 작을 수 없어요")
    updates = 0
    stacked = 0
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb)
        loss = loss / accum_steps
        loss.backward()
        stacked += 1
        if stacked == accum_steps:
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            updates += 1
            stacked = 0
            return updates
    if stacked != 0:
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
