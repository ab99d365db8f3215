# mistakes: per-parameter-norm, counter-not-restored, unlisted(draws before the forward pass)
# lines: 12, 9, 23
# hidden:
import torch


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    saved = [(b, b.clone()) for b in model.buffers() if b.is_floating_point()]

    def unit(pieces):
        return [piece / piece.norm().clamp_min(1e-30) for piece in pieces]

    def dot(left, right):
        return sum((a * b).sum() for a, b in zip(left, right))

    def fill(pieces):
        return [torch.zeros_like(p) if piece is None else piece for p, piece in zip(params, pieces)]

    try:
        # 전역 난수를 건드리지 않도록 fork
        with torch.random.fork_rng(), torch.enable_grad():
            v = unit([torch.randn_like(p) for p in params])
            loss = loss_fn(model(xb), yb)
            first = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
            first = fill(first)

            value = 0.0
            for _ in range(iterations):
                slope = dot(first, v)
                if not slope.requires_grad:
                    return 0.0
                hv = torch.autograd.grad(slope, params, retain_graph=True, allow_unused=True)
                hv = [piece.detach() for piece in fill(hv)]
                if float(dot(hv, hv)) == 0.0:
                    return 0.0
                value = float(dot(v, hv) / dot(v, v))
                v = unit(hv)
            return value
    finally:
        with torch.no_grad():
            for buffer, old in saved:
                buffer.copy_(old)
