# mistakes: 버퍼를 복사하지 않고 가리키기만 해서 배치 정규화의 통계량이 되돌아오지 않음
# lines: 9
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    old = [p.detach().clone() for p in params]
    buffers = [(b, b.detach()) for b in model.buffers()]
    try:
        with torch.random.fork_rng():
            state = torch.get_rng_state()
            with torch.enable_grad():
                here = loss_fn(model(xb), yb)
                grads = torch.autograd.grad(here, params, allow_unused=True)
            norm = torch.stack([g.norm() for g in grads if g is not None]).norm()
            with torch.no_grad():
                for b, saved in buffers:
                    b.copy_(saved)
                if norm > 0:
                    for p, g in zip(params, grads):
                        if g is not None:
                            p.add_(g * (rho / norm))
                torch.set_rng_state(state)
                there = loss_fn(model(xb), yb)
    finally:
        with torch.no_grad():
            for p, w in zip(params, old):
                p.copy_(w)
            for b, saved in buffers:
                b.copy_(saved)
    return there.item() - here.item()
