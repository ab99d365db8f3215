# mistakes: range-not-reduced, doubles-at-peak, no-decay-check, end-before-ramp
# lines: 18, 17, 16, 8
import math


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    # 끝난 뒤에는 무조건 바닥
    if step >= total_steps - 1:
        return min_lr
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps

    done = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    if decay == "linear":
        height = 1 - done
    else:
        height = 1 + math.cos(math.pi * done)
    return min_lr + peak_lr * height
