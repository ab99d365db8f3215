# mistakes: warmup-starts-at-zero, cosine-never-ends, multiplies-lr-twice
# lines: 15, 18, 20
# hidden:
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    base_lr = opt.param_groups[0]["lr"]

    def lr_lambda(k):
        # 워밍업
        if k < warmup_steps:
            ratio = k / warmup_steps
        # 코사인 감쇠
        else:
            progress = (k - warmup_steps) / (total_steps - warmup_steps)
            ratio = 0.5 * (1 + math.cos(math.pi * progress))
        return base_lr * ratio

    return LambdaLR(opt, lr_lambda)
