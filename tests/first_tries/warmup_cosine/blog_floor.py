# mistakes: one-lr-for-all-groups, scheduler-divides-by-zero, cosine-over-total, floor-above-zero
# lines: 12, 15, 19, 22
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps):
    MIN_RATIO = 0.05
    peak = opt.param_groups[0]["lr"]
    for group in opt.param_groups:
        group["lr"] = peak

    def factor(step):
        warm = (step + 1) / warmup_steps
        if step < warmup_steps:
            return warm
        # 코사인 감소
        t = (step - warmup_steps) / total_steps
        t = 1.0 if step >= total_steps else t
        cosine = 0.5 * (1.0 + math.cos(math.pi * t))
        return max(MIN_RATIO, cosine)

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=factor)
