# mistakes: forces-train-mode, restores-one-mode, per-parameter-norm, updates-running-stats
# lines: 8, 23, 18, 13
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    was_training = model.training
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    originals = [p.detach().clone() for p in params]

    with torch.random.fork_rng():
        low = loss_fn(model(xb), yb)
        grads = torch.autograd.grad(low, params)

    with torch.no_grad(), torch.random.fork_rng():
        for p, g in zip(params, grads):
            p.add_(rho * g / g.norm())
        high = loss_fn(model(xb), yb)
        for p, w in zip(params, originals):
            p.copy_(w)

    model.train(was_training)
    return high.item() - low.item()
