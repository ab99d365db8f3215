from math import cos, pi

from torch.optim import lr_scheduler


class Factor:
    def __init__(self, w, t):
        self.w, self.t = w, t

    def __call__(self, k):
        if k >= self.t and k >= self.w:
            return 0.0
        if k + 1 <= self.w:
            return float(k + 1) / float(self.w)
        return 0.5 + 0.5 * cos(pi * (k - self.w) / (self.t - self.w))


def warmup_cosine(opt, warmup_steps, total_steps):
    return lr_scheduler.LambdaLR(opt, Factor(warmup_steps, total_steps))
