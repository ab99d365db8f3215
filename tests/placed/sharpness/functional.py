import torch
from torch.func import functional_call, grad_and_value


def sharpness(model, loss_fn, xb, yb, *, rho):
    rng = torch.get_rng_state()
    params = {k: v.detach() for k, v in model.named_parameters() if v.requires_grad}
    frozen = {k: v.detach() for k, v in model.named_parameters() if not v.requires_grad}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def compute(p):
        out = functional_call(model, (p, frozen, buffers), (xb,))
        return loss_fn(out, yb)

    leaves = {k: v.clone().requires_grad_() for k, v in params.items()}
    base = compute(leaves)
    gs = torch.autograd.grad(base, list(leaves.values()), allow_unused=True)
    gs = [torch.zeros_like(v) if g is None else g for g, v in zip(gs, leaves.values())]
    norm = torch.linalg.vector_norm(torch.stack([g.norm() for g in gs]))
    scale = rho / (norm + 1e-12)
    moved = {k: v + scale * g for (k, v), g in zip(params.items(), gs)}
    with torch.no_grad():
        up = compute(moved)  # before: different-masks
    torch.set_rng_state(rng)
    return (up - base).item()
