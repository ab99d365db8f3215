# mistakes: one-lr-for-all-groups, warmup-off-by-one
# lines: 9, 15
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    lr = opt.param_groups[0]["lr"]
    for group in opt.param_groups:
        group["lr"] = lr              # 모든 그룹의 시작 학습률을 맞춘다

    def rate(k):
        if k < warmup_steps:
            return (k + 1) / (warmup_steps + 1)
        if k >= total_steps:
            return 0.0
        t = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1.0 + math.cos(math.pi * t))

    return LambdaLR(opt, lr_lambda=rate)
