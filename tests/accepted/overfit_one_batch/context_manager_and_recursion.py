import contextlib

import torch


@contextlib.contextmanager
def train_mode(model):
    saved = {name: m.training for name, m in model.named_modules()}
    model.train(True)
    try:
        yield
    finally:
        for name, m in model.named_modules():
            m.training = saved[name]


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):
    params = [p for p in model.parameters() if p.requires_grad]

    def more(left):
        if left == 0:
            return []
        loss = loss_fn(model(xb), yb)
        value = float(loss)
        if value <= target:
            return [value]
        for p, g in zip(params, torch.autograd.grad(loss, params)):
            p.grad = g
        opt.step()
        return [value, *more(left - 1)]

    with train_mode(model):
        losses = more(max_steps)
    for p in model.parameters():
        p.grad = None
    return losses
