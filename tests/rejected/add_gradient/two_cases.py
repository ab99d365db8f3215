# expect: 
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    parameters = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    for p, g in zip(parameters, torch.autograd.grad(loss, parameters, allow_unused=True)):
        if g is None:
            continue
        if model.training:
            g = weight * g
        p.grad = g if p.grad is None else p.grad + g
    return loss.item()
