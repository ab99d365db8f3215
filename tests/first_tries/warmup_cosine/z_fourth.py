# mistakes: warmup-starts-at-zero, cosine-never-ends
# lines: 12, 15
# hidden:
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def 오르막(k):
        return k / warmup_steps

    def 내리막(k):
        지난_비율 = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * 지난_비율))

    return LambdaLR(opt, lambda k: 오르막(k) if k < warmup_steps else 내리막(k))
