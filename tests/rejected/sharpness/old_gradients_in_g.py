# expect: adds-held-gradients
import torch


def _rng():
    return torch.get_rng_state(), (torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])


def _set_rng(state):
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])


def _global_norm(grads):
    total = 0.0
    for g in grads:
        if g is not None:
            total += g.double().square().sum().item()
    return total**0.5


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    old_grads = [p.grad for p in params]
    saved = [(t, t.detach().clone()) for t in [*params, *model.buffers()]]
    rng = _rng()
    try:
        for p in params:
            p.grad = None if p.grad is None else p.grad.clone()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        g = [p.grad for p in params]
        norm = _global_norm(g)
        if norm == 0:
            return 0.0
        with torch.no_grad():
            for t, old in saved:
                t.copy_(old)
            for p, direction in zip(params, g):
                if direction is not None:
                    p.add_(direction, alpha=rho / norm)
            _set_rng(rng)
            return loss_fn(model(xb), yb).item() - loss.item()
    finally:
        with torch.no_grad():
            for t, old in saved:
                t.copy_(old)
        for p, grad in zip(params, old_grads):
            p.grad = grad
        _set_rng(rng)
