import numpy as np
from torch.optim.lr_scheduler import LambdaLR


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        progress = min(1.0, (k - warmup_steps) / max(1, total_steps - warmup_steps)) if total_steps > warmup_steps else 1.0
        return float(np.cos(np.pi * progress / 2) ** 2)

    return LambdaLR(opt, lr_lambda=[scale for _ in opt.param_groups])
