# expect: counter-not-restored
import copy

import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    kept = {k: copy.deepcopy(v) for k, v in model.state_dict().items() if v.dtype.is_floating_point}
    rng = torch.get_rng_state()
    params = [p for p in model.parameters() if p.requires_grad]
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.cat([g.flatten() for g in grads]).norm()
    torch.set_rng_state(rng)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p += rho * g / norm
        high = loss_fn(model(xb), yb)
    model.load_state_dict(kept, strict=False)
    torch.set_rng_state(rng)
    return (high - loss).item()
