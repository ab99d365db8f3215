# mistakes: returns-length, counter-not-restored, advances-rng
# lines: 49, 11, 40
# hidden:
import torch


class BufferGuard:
    """순전파가 바꾼 이동 통계량을 되돌린다."""

    def __init__(self, model):
        self.saved = [(b, b.detach().clone()) for b in model.buffers() if b.is_floating_point()]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with torch.no_grad():
            for buffer, old in self.saved:
                buffer.copy_(old)
        return False


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    weights = [p for p in model.parameters() if p.requires_grad]

    def length(vectors):
        return torch.stack([v.pow(2).sum() for v in vectors]).sum().sqrt()

    def hessian_times(grads, vectors):
        pairs = [(g, v) for g, v in zip(grads, vectors) if g is not None and g.requires_grad]
        if not pairs:
            return [torch.zeros_like(w) for w in weights]
        product = sum((g * v).sum() for g, v in pairs)
        result = torch.autograd.grad(product, weights, retain_graph=True, allow_unused=True)
        return [torch.zeros_like(w) if r is None else r for r, w in zip(result, weights)]

    with BufferGuard(model):
        loss = loss_fn(model(xb), yb)
        grads = torch.autograd.grad(loss, weights, create_graph=True, allow_unused=True)
        v = [torch.randn_like(w) for w in weights]
        size = length(v)
        v = [x / size for x in v]
        eigenvalue = 0.0
        for _ in range(iterations):
            hv = hessian_times(grads, v)
            size = length(hv)
            if size == 0:
                return 0.0
            eigenvalue = size.item()
            v = [h / size for h in hv]
        return eigenvalue
