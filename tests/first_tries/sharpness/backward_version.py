# mistakes: leaves-gradients, different-masks, advances-rng, updates-running-stats
# lines: 9, 17, 17, 18
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    loss.backward()
    grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in params]
    norm = torch.sqrt(sum((g ** 2).sum() for g in grads))
    saved = [p.detach().clone() for p in params]
    with torch.no_grad():
        if norm > 0:
            for p, g in zip(params, grads):
                p += rho * g / norm
        new_loss = loss_fn(model(xb), yb)
        for p, s in zip(params, saved):
            p.copy_(s)
    model.zero_grad()
    return (new_loss - loss).item()
