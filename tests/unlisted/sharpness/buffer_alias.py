# mistakes: 버퍼를 복사하지 않고 적어 두어서 이동 통계량이 되돌아가지 않음
# lines: 9
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.detach().clone() for p in params]
    buffers = [(b, b.detach()) for b in model.buffers()]
    try:
        with torch.random.fork_rng():
            state = torch.get_rng_state()
            with torch.enable_grad():
                before = loss_fn(model(xb), yb)
            grads = torch.autograd.grad(before, params, allow_unused=True)
            norm = sum(g.double().pow(2).sum() for g in grads if g is not None) ** 0.5
            with torch.no_grad():
                if norm > 0:
                    for p, g in zip(params, grads):
                        if g is not None:
                            p.add_(g * (rho / float(norm)))
                torch.set_rng_state(state)
                after = loss_fn(model(xb), yb)
    finally:
        with torch.no_grad():
            for p, w in zip(params, weights):
                p.copy_(w)
            for buffer, old in buffers:
                buffer.copy_(old)
    return after.item() - before.item()
