import torch
from torch.func import functional_call, grad_and_value


def sharpness(model, loss_fn, xb, yb, *, rho):
    w = {name: p.detach() for name, p in model.named_parameters()}

    def loss_at(params):
        buffers = {name: b.clone() for name, b in model.named_buffers()}
        return loss_fn(functional_call(model, (params, buffers), (xb,)), yb)

    with torch.random.fork_rng():
        g, low = grad_and_value(loss_at)(w)
    norm = torch.sqrt(sum((v**2).sum() for v in g.values()))
    with torch.random.fork_rng(), torch.no_grad():
        high = loss_at({name: w[name] + rho * g[name] / norm for name in w})
    return float(high - low)
