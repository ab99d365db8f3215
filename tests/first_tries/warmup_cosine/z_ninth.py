# mistakes: warmup-off-by-one, cosine-never-ends
# lines: 21, 18
# hidden:
import math

import torch
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    내리막_길이 = total_steps - warmup_steps

    def 오르막(k):
        return (k + 1) / warmup_steps

    def 내리막(k):
        진행 = (k - warmup_steps) / 내리막_길이
        return 0.5 * (1 + math.cos(math.pi * 진행))

    def multiplier(k):
        return 오르막(k) if k <= warmup_steps else 내리막(k)

    return LambdaLR(opt, lr_lambda=multiplier)
