# mistakes: returns-weighted-loss, fills-none-gradients
# lines: 16, 22
# hidden:
import torch


def _put(parameter, extra):
    if parameter.grad is None:
        parameter.grad = extra.detach().clone()
    else:
        parameter.grad += extra


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    trainable = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb) * weight
    if not trainable:
        return loss.item()
    new_grads = torch.autograd.grad(loss, trainable, allow_unused=True)
    for p, g in zip(trainable, new_grads):
        # 손실이 닿지 않으면 0
        _put(p, g if g is not None else torch.zeros_like(p))
    return loss.item()
