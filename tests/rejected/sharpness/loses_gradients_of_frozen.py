# expect: leaves-gradients
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    buffers = {n: b.clone() for n, b in model.named_buffers()}
    old_grads = [p.grad for p in params]
    rng = torch.get_rng_state()
    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.sqrt(sum((g**2).sum() for g in grads))
    torch.set_rng_state(rng)
    with torch.no_grad():
        start = [p.clone() for p in params]
        for p, g in zip(params, grads):
            p.add_(g, alpha=rho / norm.item())
        loss_up = loss_fn(model(xb), yb)
        for p, w in zip(params, start):
            p.copy_(w)
        for n, b in model.named_buffers():
            b.copy_(buffers[n])
    for p, g in zip(params, old_grads):
        p.grad = g
    torch.set_rng_state(rng)
    return loss_up.item() - loss.item()
