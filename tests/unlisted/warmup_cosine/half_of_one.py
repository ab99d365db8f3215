# mistakes: 괄호가 빠져서 0.5를 1에만 곱함
# lines: 15
import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps):
    def lr_lambda(step):
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if step >= total_steps:
            return 0.0
        t = (step - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * 1 + math.cos(math.pi * t)

    return torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda)
