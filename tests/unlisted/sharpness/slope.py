# mistakes: 손실의 차가 아니라 그것을 rho로 나눈 기울기를 돌려줌
# lines: 23
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    kept = [p.detach().clone() for p in params]
    buffers = [b.clone() for b in model.buffers()]
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    norm = torch.sqrt(sum((g * g).sum() for g in grads)) + 1e-12
    with torch.no_grad():
        for p, g in zip(params, grads):
            p += rho * g / norm
        with torch.random.fork_rng():
            up = loss_fn(model(xb), yb)
        for p, w in zip(params, kept):
            p.copy_(w)
        for b, old in zip(model.buffers(), buffers):
            b.copy_(old)
    return (up - loss).item() / rho
