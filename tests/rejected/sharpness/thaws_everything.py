# expect: unfreezes
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    state = {name: value.clone() for name, value in model.state_dict().items()}
    rng = torch.get_rng_state()
    for p in model.parameters():
        p.requires_grad_(True)
    params = list(model.parameters())
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = sum(float(g.pow(2).sum()) for g in grads) ** 0.5
    for p in params:
        p.requires_grad_(False)
    for p, g in zip(params, grads):
        p.add_(rho * g / norm)
    torch.set_rng_state(rng)
    high = loss_fn(model(xb), yb).item()
    model.load_state_dict(state)
    torch.set_rng_state(rng)
    for p in params:
        p.requires_grad_(True)
    return high - loss.item()
