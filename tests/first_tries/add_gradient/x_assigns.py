# mistakes: clears-first, forces-train-mode, fills-none-gradients
# lines: 15, 8, 14
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    model.train()
    loss = loss_fn(model(xb), yb)
    params = [p for p in model.parameters() if p.requires_grad]
    grads = torch.autograd.grad(loss, params, allow_unused=True)
    for p, g in zip(params, grads):
        if g is None:
            g = torch.zeros_like(p)
        p.grad = weight * g
    return loss.item()
