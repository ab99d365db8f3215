# mistakes: returns-length, advances-rng
# lines: 35, 23
# hidden:
import torch


def dot(a, b):
    return sum((x * y).sum() for x, y in zip(a, b))


def fill(values, like):
    return [torch.zeros_like(p) if v is None else v for v, p in zip(values, like)]


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    saved = [(b, b.detach().clone()) for b in model.buffers()]
    params = [p for p in model.parameters() if p.requires_grad]

    loss = loss_fn(model(xb), yb)
    grads = fill(torch.autograd.grad(loss, params, create_graph=True, allow_unused=True), params)

    # 무작위 방향에서 시작해 되풀이해 곱한다
    v = [torch.randn_like(p) for p in params]
    size = dot(v, v).sqrt()
    v = [x / size for x in v]

    eig = 0.0
    for _ in range(iterations):
        gv = dot(grads, v)
        if not gv.requires_grad:
            eig = 0.0
            break
        hv = fill(torch.autograd.grad(gv, params, retain_graph=True, allow_unused=True), params)
        size = dot(hv, hv).sqrt()
        eig = size.item()
        if eig == 0:
            break
        v = [h / size for h in hv]

    with torch.no_grad():
        for b, old in saved:
            b.copy_(old)
    return eig
