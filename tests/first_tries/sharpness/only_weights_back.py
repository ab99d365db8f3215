# mistakes: unlisted (frozen parameters raise an error), updates-running-stats, advances-rng, different-masks, unlisted (goes back by subtracting e)
# lines: 7, 8, 8, 16, 18
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = list(model.parameters())
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.cat([g.flatten() for g in grads]).norm()
    e = [rho * g / norm for g in grads]

    with torch.no_grad():
        for p, step in zip(params, e):
            p.add_(step)
        climbed = loss_fn(model(xb), yb)
        for p, step in zip(params, e):
            p.sub_(step)
    return climbed.item() - loss.item()
