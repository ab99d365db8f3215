# mistakes: starts-from-gradient
# lines: 58
import contextlib

import torch


@contextlib.contextmanager
def untouched(model):
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    cpu = torch.get_rng_state()
    gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        yield
    finally:
        with torch.no_grad():
            for b, old in buffers:
                b.copy_(old)
        torch.set_rng_state(cpu)
        if gpu:
            torch.cuda.set_rng_state_all(gpu)


def first_gradients(loss, params):
    if not loss.requires_grad:
        return [torch.zeros_like(p) for p in params]
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads)]


def times_hessian(grads, params, vector):
    pairs = [(g, v) for g, v in zip(grads, vector) if g.requires_grad]
    if not pairs:
        return [torch.zeros_like(p) for p in params]
    outs, weights = zip(*pairs)
    products = torch.autograd.grad(outs, params, weights, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(p) if h is None else h.detach() for p, h in zip(params, products)]


def dot(a, b):
    return sum((x.double() * y.double()).sum().item() for x, y in zip(a, b))


def unit(vector):
    length = dot(vector, vector) ** 0.5
    return [v / length for v in vector]


def random_direction(params):
    generator = torch.Generator().manual_seed(0)
    return unit([torch.randn(p.shape, generator=generator, dtype=p.dtype).to(p.device) for p in params])


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    with untouched(model):
        grads = first_gradients(loss_fn(model(xb), yb), params)
        start = [g.detach().clone() for g in grads]
        if dot(start, start) == 0:
            return 0.0
        v = unit(start)
        for _ in range(iterations):
            hv = times_hessian(grads, params, v)
            if dot(hv, hv) == 0:
                return 0.0
            v = unit(hv)
        return dot(v, times_hessian(grads, params, v))
