import torch


def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()


def zero_gradients(params):
    for p in params:
        if p.grad is not None:
            p.grad.zero_()
