# mistakes: forces-eval-mode, per-parameter-norm, leaves-train-mode, returns-tensor
# lines: 9, 20, 29, 30

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    rng = torch.get_rng_state()
    model.eval()

    params = [p for p in model.parameters() if p.requires_grad]
    loss0 = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss0, params, allow_unused=True)

    backup = {}
    with torch.no_grad():
        for i, (p, g) in enumerate(zip(params, grads)):
            backup[i] = p.clone()
            if g is not None:
                p += rho * g / (g.norm() + 1e-12)

        torch.set_rng_state(rng)
        loss1 = loss_fn(model(xb), yb)

        for i, p in enumerate(params):
            p.copy_(backup[i])

    torch.set_rng_state(rng)
    model.train()
    return (loss1 - loss0).detach()
