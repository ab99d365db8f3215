# mistakes: 코사인 안에 π를 곱하지 않음
# lines: 15
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        done = (k - warmup_steps) / (total_steps - warmup_steps)
        return (1 + math.cos(done)) / 2

    return LambdaLR(opt, scale)
