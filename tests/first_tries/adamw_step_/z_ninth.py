# mistakes: double-state, decays-none, eps-before-correction
# lines: 13, 24, 40
# hidden:
import math

import torch


def new_slot(shape):
    """한 매개변수의 빈 상태"""
    return {
        "step": 0,
        "exp_avg": torch.zeros(shape),
        "exp_avg_sq": torch.zeros(shape),
    }


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas

    # 1) 감쇠는 그레이디언트와 따로
    for p in params:
        p.mul_(1 - lr * weight_decay)

    # 2) 업데이트
    for i, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        if i not in state:
            state[i] = new_slot(p.shape)
        slot = state[i]
        slot["step"] += 1
        t = slot["step"]
        m, v = slot["exp_avg"], slot["exp_avg_sq"]
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).add_(g * g, alpha=1 - beta2)
        correction1 = 1 - beta1**t
        correction2 = 1 - beta2**t
        denom = (v.sqrt() + eps) / math.sqrt(correction2)
        p.sub_(lr / correction1 * m / denom)
