# mistakes: leaves-gradients, advances-rng, different-masks, updates-running-stats
# lines: 8, 7, 16, 7
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    params = [p for p in model.parameters() if p.grad is not None]
    norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in params))

    saved = [p.detach().clone() for p in params]
    with torch.no_grad():
        for p in params:
            p += rho * p.grad / norm
        perturbed = loss_fn(model(xb), yb)
        for p, w in zip(params, saved):
            p.copy_(w)
    return perturbed.item() - loss.item()
