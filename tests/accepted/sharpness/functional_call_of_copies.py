import torch
from torch.func import functional_call


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    own = dict(model.named_parameters())
    copies = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in own.items()}

    def loss_with(weights):
        buffers = {name: b.detach().clone() for name, b in model.named_buffers()}
        with torch.random.fork_rng():
            return loss_fn(functional_call(model, {**weights, **buffers}, (xb,)), yb)

    with torch.enable_grad():
        low = loss_with(copies)
        free = [name for name, p in copies.items() if p.requires_grad]
        found = torch.autograd.grad(low, [copies[name] for name in free], allow_unused=True)
    slopes = {name: g for name, g in zip(free, found) if g is not None}
    norm = sum(g.double().square().sum() for g in slopes.values()) ** 0.5

    with torch.no_grad():
        if norm > 0:
            shifted = {
                name: p + slopes[name] * (rho / float(norm)) if name in slopes else p
                for name, p in copies.items()
            }
        else:
            shifted = copies
        return loss_with(shifted).item() - low.item()
