from itertools import islice

import torch


def batched(iterable, n):
    it = iter(iterable)
    while chunk := tuple(islice(it, n)):
        yield chunk


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps <= 0:
        raise ValueError(f"{accum_steps=}")
    params = [p for g in opt.param_groups for p in g["params"]]
    k = 0
    for k, window in enumerate(batched(micro_batches, accum_steps), start=1):
        model.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb).mul(1 / len(window))
            loss.backward()
        if max_norm is not None:
            grads = [p.grad for p in params]
            norms = torch._foreach_norm(grads)
            total = torch.stack(norms).norm()
            torch._foreach_mul_(grads, torch.clamp(max_norm / (total + 1e-6), max=1.0))
        opt.step()
    model.zero_grad()
    return k
