# mistakes: multiplies-lr-twice, warmup-off-by-one
# lines: 9, 14
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps):
    peak = opt.param_groups[0]["lr"]

    def get_lr(step):
        if step >= total_steps:
            return 0.0
        if step <= warmup_steps:
            return peak * (step + 1) / warmup_steps
        ratio = (step - warmup_steps) / (total_steps - warmup_steps)
        return peak * 0.5 * (1 + math.cos(math.pi * ratio))

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=get_lr)
