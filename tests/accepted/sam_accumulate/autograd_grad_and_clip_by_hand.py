from itertools import islice

import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    params = [p for p in model.parameters() if p.requires_grad]
    micro_batches = iter(micro_batches)

    def mean_gradient(window):
        total, grads = 0.0, [torch.zeros_like(p) for p in params]
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            total += loss.item()
            for g, new in zip(grads, torch.autograd.grad(loss, params)):
                g += new / len(window)
        for p, g in zip(params, grads):
            p.grad = g
        return total / len(window)

    history = []
    for window in iter(lambda: tuple(islice(micro_batches, accum_steps)), ()):
        history.append(mean_gradient(window))
        sam.first_step()
        mean_gradient(window)
        if max_norm is not None:
            norm = sum(float(p.grad.square().sum()) for p in params) ** 0.5
            if norm > max_norm:
                for p in params:
                    p.grad.mul_(max_norm / norm)
        sam.second_step()
        sam.zero_grad()
    return history
