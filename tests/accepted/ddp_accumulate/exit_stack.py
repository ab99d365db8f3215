from contextlib import ExitStack

import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    window = tuple(micro_batches)
    if len(window) == 0:
        raise ValueError
    for p in ddp.parameters():
        p.grad = None
    mean = 0.0
    for index in range(len(window)):
        x, y = window[index]
        with ExitStack() as stack:
            if index < len(window) - 1:
                stack.enter_context(ddp.no_sync())
            loss = loss_fn(ddp(x), y)
            torch.autograd.backward(loss / len(window))
        mean += loss.item() / len(window)
    if max_norm is not None:
        norm = torch.cat([p.grad.flatten() for p in ddp.parameters()]).norm()
        if norm > max_norm:
            for p in ddp.parameters():
                p.grad *= max_norm / (norm + 1e-6)
    opt.step()
    opt.zero_grad()
    return mean
