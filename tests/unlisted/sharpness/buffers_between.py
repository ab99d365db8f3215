# mistakes: 첫 순전파 뒤에 버퍼를 적어 두어 이동 통계량이 한 번 바뀐 채 남음
# lines: 11
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    params = [p for p in model.parameters() if p.requires_grad]
    rng = torch.get_rng_state()
    loss = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss, params)
    buffers = [b.clone() for b in model.buffers()]
    norm = torch.cat([g.flatten() for g in grads]).norm()
    weights = [p.detach().clone() for p in params]
    torch.set_rng_state(rng)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(g, alpha=float(rho / (norm + 1e-12)))
        higher = loss_fn(model(xb), yb)
        for p, w in zip(params, weights):
            p.copy_(w)
        for b, old in zip(model.buffers(), buffers):
            b.copy_(old)
    torch.set_rng_state(rng)
    return higher.item() - loss.item()
