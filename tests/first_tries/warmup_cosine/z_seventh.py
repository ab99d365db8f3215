# mistakes: one-lr-for-all-groups, cosine-never-ends
# lines: 25, 21
# hidden:
import math

import torch


class _WarmupCosine(torch.optim.lr_scheduler.LRScheduler):
    """LambdaLR 대신 직접 만든 스케줄러"""

    def __init__(self, optimizer, warmup_steps, total_steps):
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        super().__init__(optimizer)

    def _scale(self):
        k = self.last_epoch
        if k < self.warmup_steps:
            return (k + 1) / self.warmup_steps
        progress = (k - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    def get_lr(self):
        base = self.base_lrs[0]
        return [base * self._scale() for _ in self.optimizer.param_groups]


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    return _WarmupCosine(opt, warmup_steps, total_steps)
