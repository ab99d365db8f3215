import torch
from torch.func import functional_call, grad, jvp


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    weights = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}

    def loss_at(values):
        buffers = {name: b.detach().clone() for name, b in model.named_buffers()}
        return loss_fn(functional_call(model, {**values, **buffers}, (xb,)), yb)

    rng = torch.get_rng_state()
    numbers = torch.Generator()
    numbers.manual_seed(1234)
    v = {name: torch.randn(w.shape, generator=numbers).to(w) for name, w in weights.items()}
    for _ in range(iterations):
        length = sum(part.pow(2).sum() for part in v.values()) ** 0.5
        if length == 0:
            break
        v = {name: part / length for name, part in v.items()}
        torch.set_rng_state(rng)  # one mask for all rounds
        _, product = jvp(grad(loss_at), (weights,), (v,))
        value = float(sum((v[name] * product[name]).sum() for name in v))
        v = product
    torch.set_rng_state(rng)
    return value
