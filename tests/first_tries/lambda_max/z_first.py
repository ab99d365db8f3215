# mistakes: global-random-vector, counter-not-restored, returns-length
# lines: 22, 14, 44
# hidden:
import torch


def dot(us, vs):
    return sum((u * v).sum() for u, v in zip(us, vs))


def lambda_max(model, loss_fn, xb, yb, *, iterations=100) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    old_buffers = [
        (b, b.detach().clone()) for b in model.buffers() if b.is_floating_point()
    ]
    cuda = torch.cuda.is_available()
    cpu_state = torch.get_rng_state()
    cuda_state = torch.cuda.get_rng_state_all() if cuda else None

    try:
        # 무작위 단위 벡터에서 출발
        v = [torch.randn_like(p) for p in params]
        size = dot(v, v).sqrt()
        v = [x / size for x in v]

        with torch.enable_grad():
            loss = loss_fn(model(xb), yb)
            grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)

        def hvp(vec):
            with torch.enable_grad():
                s = sum((g * x).sum() for g, x in zip(grads, vec) if g is not None)
                if not torch.is_tensor(s) or not s.requires_grad:
                    return [torch.zeros_like(p) for p in params]
                hs = torch.autograd.grad(s, params, retain_graph=True, allow_unused=True)
            return [torch.zeros_like(p) if h is None else h.detach() for p, h in zip(params, hs)]

        value = 0.0
        for _ in range(iterations):
            hv = hvp(v)
            size = dot(hv, hv).sqrt()
            if size == 0:
                return 0.0
            value = size.item()
            v = [h / size for h in hv]
        return value
    finally:
        torch.set_rng_state(cpu_state)
        if cuda:
            torch.cuda.set_rng_state_all(cuda_state)
        with torch.no_grad():
            for b, saved in old_buffers:
                b.copy_(saved)
