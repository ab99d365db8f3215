# mistakes: missing-restore|updates-running-stats, unnormalized-perturbation, divides-by-rho
# lines: 8, 17, 23
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    # 나중에 되돌릴 것들
    before = model.state_dict()
    rng = torch.get_rng_state()

    params = [p for p in model.parameters() if p.requires_grad]
    loss_w = loss_fn(model(xb), yb)
    grads = torch.autograd.grad(loss_w, params)
    torch.set_rng_state(rng)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.add_(g, alpha=rho)
        loss_e = loss_fn(model(xb), yb)

    # 모두 되돌린다
    model.load_state_dict(before)
    torch.set_rng_state(rng)
    return (loss_e.item() - loss_w.item()) / rho
