import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    params = list(model.parameters())
    batches = list(micro_batches)
    num = 0
    for s in range(0, len(batches), accum_steps):
        window = batches[s:s + accum_steps]
        sums = [torch.zeros_like(p) for p in params]
        for xb, yb in window:
            grads = torch.autograd.grad(loss_fn(model(xb), yb), params)
            sums = [a + g / len(window) for a, g in zip(sums, grads)]
        if max_norm is not None:
            norm = torch.sqrt(sum((a * a).sum() for a in sums))
            scale = min(1.0, float(max_norm / norm))
            sums = [a * scale for a in sums]
        for p, acc in zip(params, sums):
            p.grad = acc
        opt.step()
        num += 1
    opt.zero_grad()
    return num
