import torch
from torch.nn.utils import parameters_to_vector


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    saved = {name: value.clone() for name, value in model.named_buffers()}
    trained = [p for p in model.parameters() if p.requires_grad]
    rng = torch.get_rng_state()
    g = parameters_to_vector(torch.autograd.grad(loss_fn(model(xb), yb), trained, create_graph=True, materialize_grads=True))
    torch.set_rng_state(rng)

    def product(v):
        options = {"retain_graph": True, "materialize_grads": True}
        return parameters_to_vector(torch.autograd.grad(g, trained, grad_outputs=v, **options))

    v = torch.ones_like(g) + torch.arange(len(g)).to(g) / 7
    v = v.detach()
    for _ in range(iterations):
        v = v / v.norm().clamp(min=1e-30)
        v = product(v)
    v = v / v.norm().clamp(min=1e-30)
    hv = product(v)
    for name, value in model.named_buffers():
        with torch.no_grad():
            value.copy_(saved[name])
    return torch.dot(v, hv).item()
