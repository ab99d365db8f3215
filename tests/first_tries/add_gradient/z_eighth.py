# mistakes: returns-weighted-loss, fills-none-gradients
# lines: 24, 13
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    def trainable_parameters():
        return [p for p in model.parameters() if p.requires_grad]

    def put(p, g):
        if g is None:
            g = torch.zeros_like(p)
        if p.grad is None:
            p.grad = g.clone()
        else:
            p.grad += g

    targets = trainable_parameters()
    loss = loss_fn(model(xb), yb) * weight
    grads = torch.autograd.grad(loss, targets, allow_unused=True)
    for p, g in zip(targets, grads):
        put(p, g)
    return loss.item()
