# mistakes: advances-rng, updates-running-stats, returns-length
# lines: 28, 20, 43
# hidden:
import torch


def _flatten(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def _grad_or_zero(output, params, **kw):
    got = torch.autograd.grad(output, params, allow_unused=True, **kw)
    return _flatten([torch.zeros_like(p) if g is None else g for g, p in zip(got, params)])


@torch.enable_grad()
def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    # 이동 통계량을 적어 둔다
    saved_buffers = {name: b for name, b in model.named_buffers()}

    def restore():
        with torch.no_grad():
            for name, b in model.named_buffers():
                b.copy_(saved_buffers[name])

    try:
        loss = loss_fn(model(xb), yb)
        flat_grad = _grad_or_zero(loss, params, create_graph=True)

        if not flat_grad.requires_grad:
            return 0.0

        gen = torch.Generator().manual_seed(0)
        v = torch.randn(flat_grad.numel(), generator=gen).to(flat_grad)
        v = v / v.norm()
        eigenvalue = 0.0
        for _ in range(iterations):
            hv = _grad_or_zero(flat_grad @ v, params, retain_graph=True)
            length = hv.norm()
            if length == 0:
                return 0.0
            eigenvalue = length.item()
            v = hv / length
        return eigenvalue
    finally:
        restore()
