# mistakes: returns-length, counter-not-restored, advances-rng
# lines: 41, 9, 34
# hidden:
import torch


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    saved = {name: b.clone() for name, b in model.named_buffers() if b.is_floating_point()}

    def restore():
        with torch.no_grad():
            for name, b in model.named_buffers():
                if name in saved:
                    b.copy_(saved[name])

    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)

    def multiply(vs):
        """헤세 행렬과 v의 곱"""
        dot = torch.zeros((), device=loss.device, dtype=loss.dtype)
        for g, v in zip(grads, vs):
            if g is not None:
                dot = dot + (g * v).sum()
        if not dot.requires_grad:
            return [torch.zeros_like(p) for p in params]
        out = torch.autograd.grad(dot, params, retain_graph=True, allow_unused=True)
        return [torch.zeros_like(p) if o is None else o for p, o in zip(params, out)]

    def length(vs):
        return torch.sqrt(sum((v * v).sum() for v in vs)).item()

    vs = [torch.randn_like(p) for p in params]
    first = length(vs)
    vs = [v / first for v in vs]

    value = 0.0
    for _ in range(iterations):
        hs = multiply(vs)
        value = length(hs)
        if value == 0:
            break
        vs = [h / value for h in hs]

    restore()
    return value
