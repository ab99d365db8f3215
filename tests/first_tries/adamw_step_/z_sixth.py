# mistakes: shared-count, double-state, eps-before-correction
# lines: 13, 18, 29
# hidden:
import math

import torch


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas
    # 이번이 몇 번째 스텝인지
    t = 1 + max((entry["step"] for entry in state.values()), default=0)

    def fresh(p):
        return {
            "step": 0,
            "exp_avg": torch.zeros(p.shape, device=p.device),
            "exp_avg_sq": torch.zeros(p.shape, device=p.device),
        }

    def move(p, g, entry):
        entry["step"] = t
        m, v = entry["exp_avg"], entry["exp_avg_sq"]
        m.mul_(b1).add_(g, alpha=1 - b1)
        v.mul_(b2).add_(g * g, alpha=1 - b2)
        step_size = lr / (1 - b1**t)
        correction = math.sqrt(1 - b2**t)
        denom = (v.sqrt() + eps) / correction
        p.mul_(1 - lr * weight_decay)
        p.sub_(step_size * m / denom)

    for number, (p, g) in enumerate(zip(params, grads)):
        if g is None:
            continue
        if number not in state:
            state[number] = fresh(p)
        move(p, g, state[number])
