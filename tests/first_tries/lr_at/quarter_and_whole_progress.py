# mistakes: cosine-over-total, quarter-cosine, other-exception, checks-decay-late
# lines: 12, 15, 18, 18
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    if step < warmup_steps:
        return initial_lr + step / warmup_steps * (peak_lr - initial_lr)
    if step >= total_steps - 1:
        return min_lr

    progress = step / (total_steps - 1)  # 0에서 1까지
    width = peak_lr - min_lr
    if decay == "cosine":
        return min_lr + width * math.cos(math.pi / 2 * progress)
    if decay == "linear":
        return min_lr + width * (1 - progress)
    raise KeyError(decay)
