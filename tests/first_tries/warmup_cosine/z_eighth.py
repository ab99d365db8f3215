# mistakes: warmup-starts-at-zero, cosine-never-ends
# lines: 15, 16
# hidden:
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    def is_warmup(k):
        return k < warmup_steps

    def scale(k):
        if is_warmup(k):
            return k / warmup_steps
        # 워밍업이 끝난 뒤 코사인으로 내려간다
        progress = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=scale)
