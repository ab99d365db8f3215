import torch


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    params = [p for p in model.parameters() if p.requires_grad]
    rng = torch.get_rng_state()
    saved = [b.clone() for b in model.buffers()]

    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    grads = [torch.zeros_like(p) if g is None else g for g, p in zip(grads, params)]

    v = [torch.randn_like(p) for p in params]
    norm = torch.sqrt(sum((x * x).sum() for x in v))
    v = [x / norm for x in v]
    eig = 0.0
    for _ in range(iterations):
        dot = sum((g * x).sum() for g, x in zip(grads, v))
        Hv = torch.autograd.grad(dot, params, retain_graph=True, allow_unused=True)
        Hv = [torch.zeros_like(p) if h is None else h for h, p in zip(Hv, params)]
        norm = torch.sqrt(sum((h * h).sum() for h in Hv))
        if norm.item() == 0:
            eig = 0.0
            break
        new = norm.item()
        if eig and abs(new - eig) / abs(eig) < 1e-3:  # here: stops-when-steady
            eig = new
            break
        eig = new
        v = [h / norm for h in Hv]

    with torch.no_grad():
        for b, s in zip(model.buffers(), saved):
            b.copy_(s)
    torch.set_rng_state(rng)
    return float(eig)
