# mistakes: 곱한 벡터를 다음 바퀴로 넘기지 않아 되풀이가 제자리걸음
# lines: 23
import math

import torch


def lambda_max(model, loss_fn, xb, yb, *, iterations=100):
    params = [p for p in model.parameters() if p.requires_grad]
    buffers = [b.clone() for b in model.buffers()]
    g = torch.Generator().manual_seed(1)
    v = [torch.randn(p.shape, generator=g).to(p) for p in params]
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params, create_graph=True, materialize_grads=True)
    value = torch.zeros(())
    for _ in range(iterations):
        length = math.sqrt(sum(float((t * t).sum()) for t in v))
        if length == 0:
            return 0.0
        v = [t / length for t in v]
        dot = sum((a * b).sum() for a, b in zip(grads, v))
        hv = torch.autograd.grad(dot, params, retain_graph=True, materialize_grads=True)
        value = sum((a * b).sum() for a, b in zip(v, hv))
    with torch.no_grad():
        for b, old in zip(model.buffers(), buffers):
            b.copy_(old)
    return float(value)
