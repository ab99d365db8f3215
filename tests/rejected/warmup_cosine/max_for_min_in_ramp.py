# expect: max-for-min
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k >= total_steps:
            return 0.0
        ramp = max(1.0, (k + 1) / max(1, warmup_steps)) if k < warmup_steps else 1.0
        done = max(0.0, (k - warmup_steps) / max(1, total_steps - warmup_steps))
        return ramp * 0.5 * (1 + math.cos(math.pi * done))

    return torch.optim.lr_scheduler.LambdaLR(opt, scale)
