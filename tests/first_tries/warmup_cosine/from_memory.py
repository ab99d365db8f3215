# mistakes: warmup-starts-at-zero, cosine-over-total, cosine-never-ends
# lines: 12, 14, 15
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        # 워밍업 구간
        if k < warmup_steps:
            return k / warmup_steps
        # 코사인 구간
        t = k / total_steps
        return 0.5 * (1 + math.cos(math.pi * t))

    return LambdaLR(opt, factor)
