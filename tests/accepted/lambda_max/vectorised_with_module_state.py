import torch
from torch.nn.utils import parameters_to_vector


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    saved = {name: value.clone() for name, value in model.named_buffers()}
    trained = [p for p in model.parameters() if p.requires_grad]
    rng = torch.get_rng_state()
    g = parameters_to_vector(torch.autograd.grad(loss_fn(model(xb), yb), trained, create_graph=True))
    torch.set_rng_state(rng)
    v = torch.ones_like(g) + torch.arange(len(g)).to(g) / 7
    v = v.detach()
    for _ in range(iterations):
        v = v / v.norm()
        v = parameters_to_vector(torch.autograd.grad(g, trained, grad_outputs=v, retain_graph=True))
    v = v / v.norm()
    hv = parameters_to_vector(torch.autograd.grad(g, trained, grad_outputs=v))
    for name, value in model.named_buffers():
        with torch.no_grad():
            value.copy_(saved[name])
    return torch.dot(v, hv).item()
