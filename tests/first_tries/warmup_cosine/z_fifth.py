# mistakes: cosine-never-ends, ends-one-step-early
# lines: 26, 20
# hidden:
import math

import torch


class Multiplier:
    """k번째 업데이트의 배율."""

    def __init__(self, warmup_steps, total_steps):
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def climb(self, k):
        return (k + 1) / self.warmup_steps

    def descend(self, k):
        done = k + 1 - self.warmup_steps
        length = self.total_steps - self.warmup_steps
        return 0.5 * (1 + math.cos(math.pi * done / length))

    def __call__(self, k):
        if k < self.warmup_steps:
            return self.climb(k)
        return self.descend(k)


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    return torch.optim.lr_scheduler.LambdaLR(opt, Multiplier(warmup_steps, total_steps))
