# mistakes: decay-after-step, state-for-all, changes-gradients
# lines: 30, 15, 27
# hidden:
import torch


def _slot(p):
    return dict(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas
    for k, p in enumerate(params):
        if k not in state:
            state[k] = _slot(p)

    with torch.no_grad():
        for k, g in enumerate(grads):
            if g is None:
                continue
            p, st = params[k], state[k]
            st["step"] += 1
            c1 = 1 - b1 ** st["step"]
            c2 = 1 - b2 ** st["step"]
            m, v = st["exp_avg"], st["exp_avg_sq"]
            m.mul_(b1).add_(g, alpha=1 - b1)
            v.mul_(b2).add_(g.pow_(2), alpha=1 - b2)
            denom = (v / c2).sqrt_().add_(eps)
            p.addcdiv_(m, denom, value=-lr / c1)
            p.mul_(1 - lr * weight_decay)
