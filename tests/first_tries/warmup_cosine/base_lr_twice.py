# mistakes: scheduler-divides-by-zero, cosine-over-total, multiplies-lr-twice
# lines: 14, 18, 19
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    base_lr = opt.param_groups[0]["lr"]

    def get_lr(k):
        if k >= total_steps:
            return 0.0
        warm = (k + 1) / warmup_steps
        if k < warmup_steps:
            scale = warm
        else:
            scale = 0.5 * (1 + math.cos(math.pi * k / total_steps))
        return base_lr * scale

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=get_lr)
