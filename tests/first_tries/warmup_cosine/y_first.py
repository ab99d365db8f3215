# mistakes: cosine-over-total
# lines: 16
# hidden:
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        t = (k - warmup_steps) / total_steps
        return 0.5 * (1.0 + math.cos(math.pi * t))

    return LambdaLR(opt, lr_lambda=factor)
