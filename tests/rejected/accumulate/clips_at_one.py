# expect: fixed-max-norm
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    updates = 0
    opt.zero_grad()
    window = []
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            for xb, yb in window:
                (loss_fn(model(xb), yb) / len(window)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()
            updates += 1
            window = []
    if window:
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
