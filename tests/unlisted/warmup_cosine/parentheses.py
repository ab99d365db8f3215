# mistakes: 괄호가 빠져서 (total − warmup)이 아니라 total로 나눈 다음 warmup을 뺌
# lines: 14
import math

from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        progress = (k - warmup_steps) / total_steps - warmup_steps
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(opt, factor)
