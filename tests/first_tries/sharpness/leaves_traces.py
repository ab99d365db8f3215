# mistakes: unfreezes, updates-running-stats, per-parameter-norm, different-masks, advances-rng, unlisted (goes back by subtracting e)
# lines: 9, 11, 18, 21, 11, 23
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = list(model.parameters())
    for p in params:
        p.requires_grad_(True)

    before = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(before, params, allow_unused=True)
    moves = []
    with torch.no_grad():
        for p, g in zip(params, grads):
            if g is None or g.abs().sum() == 0:
                continue
            e = rho * g / g.norm()
            p.add_(e)
            moves.append((p, e))
        after = loss_fn(model(xb), yb)
        for p, e in moves:
            p.sub_(e)
    return after.item() - before.item()
