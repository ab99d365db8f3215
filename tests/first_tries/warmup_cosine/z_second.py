# mistakes: warmup-starts-at-zero, cosine-never-ends
# lines: 11, 19
# hidden:
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def going_up(k):
        return k / warmup_steps

    def going_down(k):
        done = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * done))

    # 오르막이면 앞의 것, 아니면 뒤의 것
    return torch.optim.lr_scheduler.LambdaLR(
        opt, lambda k: going_up(k) if k < warmup_steps else going_down(k)
    )
