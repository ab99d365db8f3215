# mistakes: no-accum-check, leftover-divided-by-full
# lines: 8, 19
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    opt.zero_grad()
    updates = 0
    pending = 0

    def step():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        pending += 1
        if pending == accum_steps:
            step()
            updates += 1
            pending = 0

    # 마지막 구간
    if pending > 0:
        step()
        updates += 1
    return updates
