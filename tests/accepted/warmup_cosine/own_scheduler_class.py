import math

from torch.optim.lr_scheduler import LRScheduler


class _WarmupThenCosine(LRScheduler):
    def __init__(self, optimizer, warmup_steps, total_steps):
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        super().__init__(optimizer)

    def factor(self):
        k = self.last_epoch
        if k < self.warmup_steps:
            return (k + 1) / self.warmup_steps
        if k < self.total_steps:
            travelled = (k - self.warmup_steps) / (self.total_steps - self.warmup_steps)
            return math.cos(0.5 * math.pi * travelled) ** 2
        return 0.0

    def get_lr(self):
        scale = self.factor()
        return [scale * own for own in self.base_lrs]


def warmup_cosine(opt, warmup_steps, total_steps) -> LRScheduler:
    return _WarmupThenCosine(opt, warmup_steps, total_steps)
