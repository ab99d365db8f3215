import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    buffers = [b.clone() for b in model.buffers()]
    state = torch.get_rng_state()
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.sqrt(sum((g**2).sum() for g in grads))
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(rho * g / (norm + 1e-12))
        after_first = torch.get_rng_state()
        torch.set_rng_state(state)
        moved = loss_fn(model(xb), yb)
        torch.set_rng_state(state)
        for b, old in zip(model.buffers(), buffers):  # before: missing-restore
            b.copy_(old)
    return moved.item() - loss.item()
