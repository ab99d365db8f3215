# mistakes: changes-gradients, decays-none, eps-before-correction
# lines: 16, 26, 38
# hidden:
import math

import torch


def _new_state(p):
    return {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}


def _update_moments(s, g, beta1, beta2):
    s["step"] += 1
    s["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
    g.mul_(1 - beta1)
    s["exp_avg"].mul_(beta1).add_(g)


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas

    # 1) 감쇠
    for p in params:
        p.mul_(1 - lr * weight_decay)

    # 2) Adam
    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        if i not in state:
            state[i] = _new_state(p)
        s = state[i]
        _update_moments(s, g, beta1, beta2)
        c1 = 1 - beta1 ** s["step"]
        c2 = 1 - beta2 ** s["step"]
        denom = (s["exp_avg_sq"].sqrt() + eps) / math.sqrt(c2)
        p.addcdiv_(s["exp_avg"] / c1, denom, value=-1.0 * lr)
