# mistakes: clip-per-parameter, clip-scales-up, scheduler-only-when-clipping
# lines: 10, 11, 23
import torch


def my_clip(parameters, max_norm):
    for p in parameters:
        if p.grad is None:
            continue
        norm = p.grad.norm()
        p.grad.mul_(max_norm / (norm + 1e-6))


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    output = model(xb)
    loss = loss_fn(output, yb)
    opt.zero_grad()
    loss.backward()
    if max_norm is not None:
        my_clip(model.parameters(), max_norm)
        opt.step()
        if scheduler is not None:
            scheduler.step()
    else:
        opt.step()
    return loss.item()
