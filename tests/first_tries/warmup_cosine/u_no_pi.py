# mistakes: no-pi
# lines: 15
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k >= total_steps:
            return 0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        ratio = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(ratio))

    return LambdaLR(opt, scale)
