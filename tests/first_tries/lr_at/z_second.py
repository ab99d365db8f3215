# mistakes: starts-at-zero, checks-decay-late, never-reaches-min
# lines: 9, 23, 19
# hidden:
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    def climbing():
        return peak_lr * step / warmup_steps

    def shape(progress):
        if decay == "cosine":
            return 0.5 * (1 + math.cos(math.pi * progress))
        if decay == "linear":
            return 1 - progress
        raise ValueError(f"모르는 decay입니다: {decay}")

    def falling():
        done = (step - warmup_steps) / (total_steps - warmup_steps)
        return min_lr + (peak_lr - min_lr) * shape(done)

    # 오르막이 먼저
    if step < warmup_steps:
        return climbing()
    if step >= total_steps - 1:
        return min_lr
    return falling()
