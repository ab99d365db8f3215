# expect: joins-the-window
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps >= 1")

    def step(window):
        xb = torch.cat([x for x, _ in window])
        yb = torch.cat([y for _, y in window])
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()

    window, n = [], 0
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            step(window)
            n, window = n + 1, []
    if window:
        step(window)
        n += 1
    opt.zero_grad(set_to_none=False)
    return n
