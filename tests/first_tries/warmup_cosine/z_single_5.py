# mistakes: multiplies-the-last-rate
# lines: 19
# hidden:
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        elif k < total_steps:
            return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))
        else:
            return 0.0

    # 학습률에 배율을 곱하는 스케줄러
    return torch.optim.lr_scheduler.MultiplicativeLR(opt, factor)
