import math

import torch


def warmup_cosine(opt, warmup_steps, total_steps):
    table = [(k + 1) / warmup_steps for k in range(warmup_steps)]
    rest = total_steps - warmup_steps
    table += [(1 + math.cos(math.pi * k / rest)) / 2 for k in range(rest)]
    return torch.optim.lr_scheduler.LambdaLR(opt, lambda k: table[k] if k < len(table) else 0.0)
