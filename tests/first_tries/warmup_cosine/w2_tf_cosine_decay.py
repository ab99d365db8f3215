# mistakes: warmup-starts-at-zero, cosine-over-total, cosine-never-ends
# lines: 12, 13, 14
# hidden:
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def multiplier(step):
        if step < warmup_steps:
            return step / warmup_steps
        progress = step / total_steps
        return 0.5 * (1.0 + math.cos(math.pi * progress))

    return LambdaLR(opt, lr_lambda=multiplier)
