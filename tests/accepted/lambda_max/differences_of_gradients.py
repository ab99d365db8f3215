import copy

import torch


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    model = copy.deepcopy(model)
    params = [p for p in model.parameters() if p.requires_grad]
    origin = [p.detach().clone() for p in params]
    state = torch.get_rng_state()
    step = 1e-4 if origin[0].dtype == torch.float64 else 1e-2

    def gradient(v, sign):
        with torch.no_grad():
            for p, w, part in zip(params, origin, v):
                p.copy_(w + sign * step * part)
        torch.set_rng_state(state)
        return torch.autograd.grad(loss_fn(model(xb), yb), params, materialize_grads=True)

    generator = torch.Generator().manual_seed(7)
    v = [torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p) for p in params]
    value = 0.0
    for _ in range(iterations):
        norm = torch.cat([part.flatten() for part in v]).norm()
        if not norm:
            break
        v = [part / norm for part in v]
        product = [(a - b) / (2 * step) for a, b in zip(gradient(v, 1), gradient(v, -1))]
        value = sum(float((part * h).sum()) for part, h in zip(v, product))
        v = product
    torch.set_rng_state(state)
    return value
