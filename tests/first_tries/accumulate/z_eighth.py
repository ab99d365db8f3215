# mistakes: leftover-divided-by-full, leftover-not-clipped, no-accum-check
# lines: 15, 26, 8
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps must be at least 1")

    opt.zero_grad()
    count = 0
    updates = 0
    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        count += 1
        if count == accum_steps:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            updates += 1
            count = 0

    if count > 0:
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
