import torch


def add_gradient(model, loss_fn, xb, yb, weight):
    params = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    for p, g in zip(params, torch.autograd.grad(loss, params, allow_unused=True)):
        if g is None:
            continue
        p.grad = weight * g if p.grad is None else p.grad + weight * g
    return float(loss.detach())
