# mistakes: warmup-off-by-one, cosine-never-ends
# lines: 12, 14
# hidden:
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def factor(k):
        if k <= warmup_steps:
            return (k + 1) / max(1, warmup_steps)
        t = (k - warmup_steps) / (total_steps - warmup_steps)
        # 끝난 뒤에는 0 밑으로 안 내려가게
        return max(0.0, 0.5 * (1 + math.cos(math.pi * t)))

    return LambdaLR(opt, factor)
