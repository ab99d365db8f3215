# mistakes: multiplies-lr-twice, scheduler-divides-by-zero
# lines: 21, 13
# hidden:
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    base_lr = opt.param_groups[0]["lr"]

    def lr_at(step):
        rising = (step + 1) / warmup_steps
        if step < warmup_steps:
            factor = rising
        elif step >= total_steps:
            factor = 0.0
        else:
            t = (step - warmup_steps) / (total_steps - warmup_steps)
            factor = 0.5 * (1 + math.cos(math.pi * t))
        return base_lr * factor

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_at)
