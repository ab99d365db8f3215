# mistakes: eps-before-correction
# lines: 37
# hidden:
import math

import torch


def _slot(state, i, p):
    if i not in state:
        state[i] = {
            "step": 0,
            "exp_avg": torch.zeros_like(p, requires_grad=False),
            "exp_avg_sq": torch.zeros_like(p, requires_grad=False),
        }
    return state[i]


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas

    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        s = _slot(state, i, p)
        s["step"] += 1
        m, v = s["exp_avg"], s["exp_avg_sq"]

        p.mul_(1 - lr * weight_decay)

        m.mul_(b1).add_(g, alpha=1 - b1)
        v.mul_(b2).addcmul_(g, g, value=1 - b2)

        c1 = 1 - b1 ** s["step"]
        c2 = 1 - b2 ** s["step"]
        denom = (v.sqrt() + eps) / math.sqrt(c2)
        p.addcdiv_(m, denom, value=-lr / c1)
