# mistakes: warmup-starts-at-zero, cosine-never-ends, multiplies-lr-twice
# lines: 13, 14, 15
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    base_lr = opt.param_groups[0]["lr"]

    def lr_lambda(k):
        if k < warmup_steps:
            return base_lr * k / warmup_steps
        progress = (k - warmup_steps) / max(1, total_steps - warmup_steps)
        return base_lr * 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(opt, lr_lambda)
