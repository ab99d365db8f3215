# mistakes: 오르막의 분모가 warmup_steps + 1이라 워밍업의 끝에서 1이 안 됨
# lines: 11
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k < warmup_steps:
            return (k + 1) / (warmup_steps + 1)
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return LambdaLR(opt, scale)
