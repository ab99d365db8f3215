# mistakes: decays-none, eps-before-correction
# lines: 14, 31
# hidden:
import math

import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas
    for i, (p, g) in enumerate(zip(params, grads)):
        # 감쇠
        p.mul_(1 - lr * weight_decay)
        if g is None:
            continue
        if i not in state:
            state[i] = {
                "step": 0,
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }
        s = state[i]
        s["step"] += 1
        m = s["exp_avg"]
        v = s["exp_avg_sq"]
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        correction1 = 1 - beta1 ** s["step"]
        correction2 = 1 - beta2 ** s["step"]
        denom = (v.sqrt() + eps) / math.sqrt(correction2)
        p.addcdiv_(m, denom, value=-lr / correction1)
