import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    twin = copy.deepcopy(model)
    twin.zero_grad()
    with torch.random.fork_rng():
        before = loss_fn(twin(xb), yb)
    before.backward()
    params = [p for p in twin.parameters() if p.grad is not None]
    norm = torch.cat([p.grad.flatten() for p in params]).norm()
    with torch.no_grad():
        for p in params:
            p += rho * p.grad / norm
        with torch.random.fork_rng():
            after = loss_fn(twin(xb), yb)
    return (after - before.detach()).item()
