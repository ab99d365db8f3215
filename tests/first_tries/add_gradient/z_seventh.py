# mistakes: returns-weighted-loss, fills-none-gradients
# lines: 16, 17
# hidden:
import torch


def _add_to(parameter, amount):
    if parameter.grad is None:
        parameter.grad = amount.clone()
    else:
        parameter.grad += amount


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    trainable = list(filter(lambda p: p.requires_grad, model.parameters()))
    loss = weight * loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, trainable, materialize_grads=True)
    for parameter, grad in zip(trainable, grads):
        _add_to(parameter, grad)
    return loss.item()
