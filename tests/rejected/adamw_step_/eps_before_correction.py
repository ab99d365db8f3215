# expect: eps-before-correction
import math

import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        if i not in state:
            state[i] = {"step": 0, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
        s = state[i]
        s["step"] += 1
        c1 = 1 - b1 ** s["step"]
        c2 = 1 - b2 ** s["step"]
        p.mul_(1 - lr * weight_decay)
        s["exp_avg"].mul_(b1).add_(g, alpha=1 - b1)
        s["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        denom = s["exp_avg_sq"].sqrt().add_(eps)
        step_size = lr * math.sqrt(c2) / c1
        p.addcdiv_(s["exp_avg"], denom, value=-step_size)
