# mistakes: counts-from-one
# lines: 10
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be positive")
    opt.zero_grad()
    steps = 1
    window = []

    def flush():
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        window.clear()

    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            flush()
            steps += 1
    if len(window) > 0:
        flush()
        steps += 1
    return steps
