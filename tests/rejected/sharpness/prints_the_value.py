# expect: returns-nothing
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.detach().clone() for p in params]
    buffers = [b.clone() for b in model.buffers()]
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.cat([g.flatten() for g in grads]).norm()
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(rho * g / norm)
        with torch.random.fork_rng():
            high = loss_fn(model(xb), yb)
        for p, w in zip(params, weights):
            p.copy_(w)
        for b, before in zip(model.buffers(), buffers):
            b.copy_(before)
    print(high.item() - loss.item())
