# mistakes: unlisted(warmup follows a cosine instead of a line), rises-after-end
# lines: 17, 18
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if decay != "cosine" and decay != "linear":
        raise ValueError("decay는 cosine 또는 linear")

    def cosine(a, b, t):  # a에서 b로 (t: 0 -> 1)
        return b + (a - b) * 0.5 * (1 + math.cos(math.pi * t))

    def linear(a, b, t):
        return a + (b - a) * t

    if step < warmup_steps:
        return cosine(initial_lr, peak_lr, step / warmup_steps)
    if step == total_steps - 1:
        return min_lr
    span = max(1, total_steps - 1 - warmup_steps)
    t = (step - warmup_steps) / span
    if decay == "linear":
        return linear(peak_lr, min_lr, t)
    return cosine(peak_lr, min_lr, t)
