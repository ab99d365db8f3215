# mistakes: cosine-over-total, half-cosine-missing
# lines: 14, 15
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def factor(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps      # 워밍업
        if step >= total_steps:
            return 0.0
        progress = step / total_steps
        return math.cos(math.pi * progress)

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)
