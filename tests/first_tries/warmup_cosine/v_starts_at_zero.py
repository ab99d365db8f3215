# mistakes: warmup-starts-at-zero, cosine-over-total, cosine-never-ends
# lines: 12, 13, 14
# hidden:
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k < warmup_steps:
            return k / warmup_steps
        progress = k / total_steps
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(opt, lr_lambda=scale)
