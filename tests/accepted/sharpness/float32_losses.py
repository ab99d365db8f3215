import math

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = list(model.parameters())
    with torch.random.fork_rng():
        stats = [(b, b.clone()) for b in model.buffers()]
        rng = torch.get_rng_state()
        loss = loss_fn(model(xb), yb)
        torch.set_rng_state(rng)
        grads = torch.autograd.grad(loss, params)
        old = [p.detach().clone() for p in params]
        norm = math.sqrt(sum(float((g * g).sum()) for g in grads))
        with torch.no_grad():
            for p, g in zip(params, grads):
                p.copy_(p + rho * g / norm)
            up = loss_fn(model(xb), yb)
            for p, o in zip(params, old):
                p.copy_(o)
            for b, o in stats:
                b.copy_(o)
    return (up.float() - loss.float()).item()
