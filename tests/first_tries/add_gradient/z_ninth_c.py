# mistakes: fills-none-gradients, returns-weighted-loss
# lines: 9, 25
# hidden:
import torch


def _put(p, g):
    if g is None:
        g = torch.zeros_like(p)
    if p.grad is None:
        p.grad = g.detach().clone()
    else:
        p.grad.add_(g)


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    trainable = [p for p in model.parameters() if p.requires_grad]

    loss = loss_fn(model(xb), yb) * weight
    grads = torch.autograd.grad(loss, trainable, allow_unused=True)

    with torch.no_grad():
        for p, g in zip(trainable, grads):
            _put(p, g)
    return float(loss.detach())
