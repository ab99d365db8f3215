# mistakes: warmup-starts-at-zero, cosine-never-ends
# lines: 18, 28
# hidden:
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


class _Shape:
    """k번째 업데이트의 배율"""

    def __init__(self, warmup, total):
        self.warmup = warmup
        self.total = total

    def rising(self, k):
        return k / self.warmup

    def falling(self, k):
        span = max(1, self.total - self.warmup)
        t = (k - self.warmup) / span
        return 0.5 * (1.0 + math.cos(math.pi * t))

    def __call__(self, k):
        if k < self.warmup:
            return self.rising(k)
        return self.falling(k)


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    return LambdaLR(opt, lr_lambda=_Shape(warmup_steps, total_steps))
