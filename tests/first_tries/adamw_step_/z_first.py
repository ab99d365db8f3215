# mistakes: double-state, decays-none, eps-before-correction
# lines: 13, 25, 38
# hidden:
import math

import torch


def _slot(state, i, p):
    if i not in state:
        state[i] = {
            "step": 0,
            "exp_avg": torch.zeros_like(p, dtype=torch.float32),
            "exp_avg_sq": torch.zeros_like(p, dtype=torch.float32),
        }
    return state[i]


@torch.no_grad()
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    b1, b2 = betas
    for i, p in enumerate(params):
        g = grads[i]
        # 분리된 가중치 감쇠
        p.mul_(1 - lr * weight_decay)
        if g is None:
            continue

        s = _slot(state, i, p)
        s["step"] += 1
        t = s["step"]
        m, v = s["exp_avg"], s["exp_avg_sq"]
        m.mul_(b1).add_(g * (1 - b1))
        v.mul_(b2).add_(g * g * (1 - b2))

        fix1 = 1 - b1**t
        fix2 = math.sqrt(1 - b2**t)
        denom = (v.sqrt() + eps) / fix2
        p.sub_(lr * (m / fix1) / denom)
