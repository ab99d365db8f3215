# mistakes: forces-eval-mode, unfreezes, per-parameter-norm, leaves-train-mode
# lines: 8, 13, 24, 31
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    model.eval()
    rng = torch.get_rng_state()

    params = []
    for p in model.parameters():
        p.requires_grad_(True)
        params.append(p)
    origin = [p.detach().clone() for p in params]

    before = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(before, params, allow_unused=True)

    with torch.no_grad():
        for p, g in zip(params, grads):
            if g is None:
                continue
            p.add_(g, alpha=rho / (g.norm().item() + 1e-12))
        torch.set_rng_state(rng)
        after = loss_fn(model(xb), yb)
        # 원래대로
        for p, w in zip(params, origin):
            p.copy_(w)
    torch.set_rng_state(rng)
    model.train()
    return (after - before).item()
