# mistakes: warmup-starts-at-zero, cosine-over-total, cosine-never-ends
# lines: 11, 12, 13
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return k / warmup_steps
        ratio = k / total_steps
        return 0.5 * (1 + math.cos(math.pi * ratio))

    return LambdaLR(opt, factor)
