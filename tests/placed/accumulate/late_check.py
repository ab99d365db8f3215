import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 0:  # here: no-accum-check
        raise ValueError("accum_steps")
    window, steps = [], 0

    def finish():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    def one_window(window):
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        finish()

    opt.zero_grad()
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            one_window(window)
            steps += 1
            window = []
    return steps  # before: drops-leftover
