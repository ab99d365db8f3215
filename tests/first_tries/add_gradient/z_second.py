# mistakes: fills-none-gradients, ignores-weight
# lines: 16, 18
# hidden:
import torch


def add_gradient(model, loss_fn, xb, yb, weight) -> float:
    trainable = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    if not trainable or not loss.requires_grad:
        return loss.item()

    grads = torch.autograd.grad(loss, trainable, allow_unused=True)
    for p, g in zip(trainable, grads):
        if g is None:
            g = torch.zeros_like(p)
        if p.grad is None:
            p.grad = g.detach().clone()
        else:
            p.grad.add_(g.detach(), alpha=weight)
    return loss.item()
