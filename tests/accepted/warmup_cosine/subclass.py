import math

from torch.optim.lr_scheduler import LRScheduler


class WarmupCosine(LRScheduler):
    def __init__(self, optimizer, warmup, total):
        self.warmup = warmup
        self.total = total
        super().__init__(optimizer)

    def get_lr(self):
        k = self.last_epoch
        if k < self.warmup:
            scale = (k + 1) / self.warmup
        elif k < self.total:
            scale = 0.5 * (1 + math.cos(math.pi * (k - self.warmup) / (self.total - self.warmup)))
        else:
            scale = 0
        return [base * scale for base in self.base_lrs]


def warmup_cosine(opt, warmup_steps, total_steps):
    return WarmupCosine(opt, warmup_steps, total_steps)
